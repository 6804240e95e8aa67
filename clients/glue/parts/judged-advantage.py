@register_adv_est("reverie_grpo")
def grpo_over_judged(token_level_rewards, response_mask, index, config=None, epsilon=1e-6, **_):
    """GRPO's advantage (arXiv 2402.03300) over the episodes of a group that have a verdict; 0 where fewer than two have.

    Args:
        token_level_rewards: (episodes, tokens)
        response_mask: (episodes, tokens); a row of zeros has no verdict
        index: the group of each episode
    Returns: advantages and returns, (episodes, tokens) both
    """
    by_std = True if config is None else config.get("norm_adv_by_std_in_grpo", True)
    with torch.no_grad():
        scores = token_level_rewards.sum(dim=-1)
        judged = response_mask.sum(dim=-1) > 0
        advantage = torch.zeros_like(scores)
        for group in set(index):
            rows = [row for row, of in enumerate(index) if of == group and judged[row]]
            if len(rows) < 2:
                continue
            centred = scores[rows] - scores[rows].mean()
            advantage[rows] = centred / (scores[rows].std() + epsilon) if by_std else centred
        advantages = advantage.unsqueeze(-1) * response_mask
    return advantages, advantages
