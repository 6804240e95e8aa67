// All benchmarks by id, one line each. A module is loaded only when its benchmark runs.

import type { BenchmarkEntry } from './benchmark.js';

export const BENCHMARKS: Readonly<Record<string, BenchmarkEntry>> = {
  'dream.vs-ort': {
    title:
      'Step of the MBPO ensemble, HalfCheetah shape, 100 k rows (raw: 1, 1 k): rows/s of ours ÷ of one untiled run',
    unit: 'ratio',
    baseline: 'onnxruntime-node 1.30.0, same weights, one untiled run, one thread',
    load: async () => (await import('./dream-vs-ort.js')).onRuntime,
  },
  'dream.vs-mbrl': {
    title: 'Step of the MBPO ensemble, HalfCheetah shape, 100 k rows (raw: 1 k): rows/s of ours ÷ of mbrl-lib',
    unit: 'ratio',
    baseline: 'mbrl-lib 0.2.0 ModelEnv, PyTorch 2.15.0 on CPU, its best number of threads',
    load: async () => (await import('./dream-vs-mbrl.js')).onRuntime,
  },
  'ensemble-train.vs-torch': {
    title: 'Gradient step of the MBPO ensemble, batch 256, one thread: steps/s of ours ÷ of PyTorch',
    unit: 'ratio',
    baseline: 'PyTorch 2.15.0 on CPU, GaussianMLP of mbrl-lib 0.2.0',
    load: async () => (await import('./ensemble-train-vs-torch.js')).onRuntime,
  },
  'ensemble-train.native-vs-torch': {
    title: 'The same by vector code (`--device native`): steps/s of ours ÷ of PyTorch',
    unit: 'ratio',
    baseline: 'PyTorch 2.15.0 on CPU, GaussianMLP of mbrl-lib 0.2.0',
    load: async () => (await import('./ensemble-train-vs-torch.js')).native,
  },
  'sac-update.vs-torch': {
    title:
      'Gradient steps of SAC by vector code, defaults with HalfCheetah’s spaces, one thread: steps/s of ours ÷ of PyTorch (raw: Pendulum, layers of 256, ONNX Runtime)',
    unit: 'ratio',
    baseline: 'PyTorch 2.15.0 on CPU, the same losses, compiled or not, whichever is faster, fused Adam',
    load: async () => (await import('./learner-updates.js')).sacVsTorch,
  },
  'redq-update.native-vs-ort': {
    title:
      'Gradient steps of REDQ by vector code, defaults with HalfCheetah’s spaces: steps/s ÷ of ONNX Runtime (raw: layers of 256, DroQ, TD3+BC)',
    unit: 'ratio',
    baseline: 'onnxruntime-node 1.30.0, the same steps as one graph, one thread',
    load: async () => (await import('./learner-updates.js')).redqVsRuntime,
  },
  'quickstart.wall': {
    title:
      'Wall time of the quickstart’s dream arm, by ONNX Runtime ÷ by vector code (raw: fits, updates, dreaming, evaluation)',
    unit: 'ratio',
    baseline: 'the same run with --device cpu: onnxruntime-node 1.30.0',
    load: () => import('./quickstart-wall.js'),
  },
  'replay.vs-cpprb': {
    title: 'Prioritised sample + priority update, 1 M rows, batch 256: rows/s of ours ÷ of cpprb',
    unit: 'ratio',
    baseline: 'cpprb 11.0.0',
    load: () => import('./replay-vs-cpprb.js'),
  },
  'retrieval.bm25': {
    title: 'Top 20 of 100,000 templated steps by words: queries/s of ours ÷ of a general search package',
    unit: 'ratio',
    baseline: 'minisearch 7.2.0, same words, same queries, its defaults',
    load: () => import('./retrieval-bm25.js'),
  },
  'gpu.ensemble': {
    title:
      'Branched rollouts of the MBPO ensemble on a GPU, HalfCheetah shape, 1 M branches, tf32: transitions/s of device time (raw: batches, precisions, policies, delivered rows)',
    unit: 'transitions/s',
    baseline: 'none',
    load: async () => (await import('./gpu-run.js')).onGpu('time', 'gpu.ensemble'),
  },
  'gpu.vs-torch-compile': {
    title:
      'The same rollouts, 1 M branches, tf32: transitions/s of ours ÷ of PyTorch on the same GPU (raw: eager, compiled, JAX, mbrl-lib, batches)',
    unit: 'ratio',
    baseline: 'PyTorch, compiled steps in one CUDA graph, the fastest of its forms',
    load: async () => (await import('./gpu-run.js')).onGpu('peers', 'gpu.vs-torch-compile'),
  },
  'warm-start.default': {
    title:
      'Real steps to threshold on ten bodies by defaults alone: the best of three SACs and SimBa ÷ warm-started in the dream, geometric mean (long; goes on where it was)',
    unit: 'ratio',
    baseline:
      'SAC of the same defaults on real rows alone, at 1 and 20 updates a real step and at as many as the dream, and SimBa; the best of the four',
    load: async () => (await import('./learning.js')).warmStart,
  },
  ...Object.fromEntries(
    ['half-cheetah', 'hopper', 'walker2d'].map((body) => [`dream-vs-best.${body}`, dreamVsBest(body)]),
  ),
  'mbpo.hopper': {
    title:
      'Real steps of hopper to returns of 1,500 and 2,500, 30,000 at most: the best baseline ÷ the better dream by its defaults, the lesser of the two (long; goes on where it was; raw: each)',
    unit: 'ratio',
    baseline:
      'SAC at 1 and 20 updates a real step, REDQ and DroQ, each as published and by the defaults of the dream, and SimBa; the best of the nine',
    load: async () => (await import('./learning.js')).mbpoHopper,
  },
  'dream.native-vs-ort': {
    title: 'dream.vs-ort with --device native, 100 k rows (raw: 1, 1 k): rows/s of ours ÷ of one untiled run',
    unit: 'ratio',
    baseline: 'onnxruntime-node 1.30.0, same weights, one untiled run, one thread',
    load: async () => (await import('./dream-vs-ort.js')).native,
  },
  'dream.native-vs-mbrl': {
    title: 'dream.vs-mbrl with --device native, 100 k rows (raw: 1 k): rows/s of ours ÷ of mbrl-lib',
    unit: 'ratio',
    baseline: 'mbrl-lib 0.2.0 ModelEnv, PyTorch 2.15.0 on CPU, its best number of threads',
    load: async () => (await import('./dream-vs-mbrl.js')).native,
  },
  'dream.harm': {
    title: 'Return after 3,000 real steps of worlds that cannot be learned: with the dream by its defaults ÷ without',
    unit: 'ratio',
    baseline: 'the same learner on real rows alone, with as many updates',
    load: async () => (await import('./learning.js')).dreamHarm,
  },
  'learners.published': {
    title:
      'Each learner against a reference implementation on the same bodies, settings and seeds: area under the curve of ours ÷ of the reference, the worst of learner and body (long; goes on where it was; raw: each)',
    unit: 'ratio',
    baseline:
      'SAC and PPO of Stable-Baselines3 2.9.2, DroQ and SimBa of SBX 0.28.0, MBPO of mbrl-lib 0.2.0, REDQ and TD3+BC in plain PyTorch by their papers',
    load: async () => (await import('./published.js')).learnersPublished,
  },
  'planner.steps': {
    title:
      'Real steps to threshold: SAC from scratch ÷ planning in the learned model (PETS by iCEM), pendulum and swing-up, the lesser (raw: each)',
    unit: 'ratio',
    baseline: 'our own SAC from scratch, one update a real step (pendulum) or two (swing-up)',
    load: async () => (await import('./learning.js')).plannerSteps,
  },
  'llm.quirks': {
    title:
      'Behaviours of real servers of language models, from public reports and documentation: met with the right answer or a named error ÷ tried',
    unit: 'share',
    baseline: 'none',
    load: () => import('./llm-quirks.js'),
  },
  'llm.tokens': {
    title:
      'Prompt of a call of the world on the recorded episodes of the service desk: tokens (raw: the share that a prefix cache holds); less is better',
    unit: 'tokens',
    baseline: 'none',
    load: () => import('./llm-tokens.js'),
  },
  'llm.overhead': {
    title:
      'A call of a language model, 2,000 episodes at once, server that answers at once: CPU of ours ÷ of a bare undici pool (raw: with a cache, memory); less is better',
    unit: 'ratio',
    baseline: 'undici 7.30.2, Pool.request in a loop, same requests',
    load: () => import('./llm-overhead.js'),
  },
  'validate.servers': {
    title: 'Known defects of a served environment that `reverie validate` finds ÷ planted; sound servers must pass',
    unit: 'share',
    baseline: 'openenv-core 0.3.0 around its echo environment, and a sound server: no check may fail',
    load: () => import('./validate-servers.js'),
  },
  'experience.smollm2': {
    title:
      'SmolLM2-135M-Instruct on errands in an inn, success on held-out tasks by the exact rules: after imitation and GRPO in a dream − as it is, in points (long; goes on where it was; raw: each seed, and above imitation alone)',
    unit: 'points',
    baseline: 'the same model as it is, the same prompt',
    load: () => import('./experience-smollm2.js'),
  },
  'world-model.smollm2': {
    title:
      "Exact next states of SmolLM2-135M-Instruct as backend `llm` on held-out tasks of helpdesk and ALFWorld: after TRL's SFT on the export `world-model` − as it is, in points (long; goes on where it was; raw: each domain and seed, changing calls, observations)",
    unit: 'points',
    baseline: 'the same model as it is, the same prompt',
    load: () => import('./world-model-smollm2.js'),
  },
  'serve.binary': {
    title:
      'Transitions/s of served pendulums: batches of 64 rows in flat frames ÷ single steps in JSON (raw: MessagePack, WebSocket, JSON batches)',
    unit: 'ratio',
    baseline: 'POST /v1/sessions/:id/step of the same server, 64 sessions at once',
    load: () => import('./serve-binary.js'),
  },
  'serve.batching': {
    title:
      'One-row steps of 256 sessions that dream of one MBPO ensemble in one worker: steps/s with batching ÷ without (raw: the rates)',
    unit: 'ratio',
    baseline: 'the same worker with batching off: every session asks the model by itself',
    load: () => import('./serve-batching.js'),
  },
  'serve.step': {
    title:
      "POST /v1/sessions/:id/step of a pendulum, 64 sessions: requests/s of ours ÷ of bare fastify (raw: steps/s over OpenEnv's WebSocket)",
    unit: 'ratio',
    baseline:
      'fastify 5.12.8, a handler that checks the same body and answers a payload of the same shape, no environment',
    load: () => import('./serve-step.js'),
  },
  'serve.sessions': {
    title:
      "Sessions that one core carries while every step waits 1 s (OpenEnv's WebSocket; 99.9 % answered, p99 at most 2 s): ours ÷ OpenEnv's own server",
    unit: 'ratio',
    baseline: 'openenv-core 0.3.0, create_app around an environment whose step is awaited',
    load: () => import('./serve-sessions.js'),
  },
  'structured.step': {
    title:
      'Steps of the service desk by its rules in their sandbox, through `Environment`, one core: steps/s ÷ 1,500 (raw: trusted rules, without the sandbox)',
    unit: 'ratio',
    baseline: '1,500 steps/s, measured when each call woke a thread',
    load: () => import('./structured-step.js'),
  },
  'structured.workers': {
    title: 'synth of the service desk: episodes/s of two workers ÷ of one',
    unit: 'ratio',
    baseline: 'one worker of the same pool',
    load: () => import('./structured-workers.js'),
  },
  'fidelity.rank': {
    title:
      "Ladders of policies in world models and for real: Spearman's rank correlation of their returns, the worst scenario (raw: every scenario, Pearson, MMRV, regret)",
    unit: "Spearman's rho",
    baseline: 'the real environment, or the exact rules of the domain',
    load: () => import('./fidelity-rank.js'),
  },
  'alfworld.parity': {
    title:
      "Walkthroughs and random walks of ALFWorld's games: steps equal to the official package's (observation, admissible commands, score, end) ÷ all (raw: walkthroughs won); needs ALFWORLD_DATA",
    unit: 'share',
    baseline: 'alfworld 0.4.2 with textworld 1.7.0',
    load: () => import('./alfworld-parity.js'),
  },
  'miniwob.parity': {
    title:
      "Tasks of MiniWoB++ offered in jsdom whose screens and rewards are Chromium's over all seeds, after solutions and walks of chance ÷ all offered (raw: every task, what differs); needs miniwob's pages and Chromium",
    unit: 'share',
    baseline: 'Chromium by playwright-core 1.65.1, same pages, seeds and actions',
    load: () => import('./miniwob-parity.js'),
  },
  'screens.exactness': {
    title:
      "Next screens of MiniWoB++'s tasks in jsdom after actions of chance, simulated by lifted records of another seed and mechanics: F1 of elements on held-out seeds (raw: every seed; F1 of changes, outcomes, transitions, k steps; recorded seeds and tasks left out; each backend alone, and nothing at all); needs miniwob's pages",
    unit: 'F1',
    baseline: 'the page itself',
    load: () => import('./screens-exactness.js'),
  },
  'screens.transfer': {
    title:
      "Twelve of MiniWoB++'s tasks in jsdom, a policy each: success on other seeds, learned in a dream of so many real episodes ÷ learned in as many real episodes (long; goes on where it was; raw: ten times the real episodes); needs miniwob's pages",
    unit: 'ratio',
    baseline: 'the same learner in the page itself, as many real episodes',
    load: async () => (await import('./text-learning.js')).screensTransfer,
  },
  'alfworld.speed': {
    title: "Random walks in ALFWorld's games, one core: steps/s of ours ÷ of the official package; needs ALFWORLD_DATA",
    unit: 'ratio',
    baseline: 'alfworld 0.4.2 with textworld 1.7.0, same games, same commands',
    load: () => import('./alfworld-speed.js'),
  },
  'alfworld.rules': {
    title:
      "Operators induced from 10,000 tries of ALFWorld's actions in training games, against the games' true domain: F1 of preconditions and effects (raw: 100 and 1,000 tries, what differs); needs ALFWORLD_DATA",
    unit: 'F1',
    baseline: 'the PDDL domain inside the games',
    load: () => import('./alfworld-rules.js'),
  },
  'alfworld.exactness': {
    title:
      "State-exact next states of ALFWorld's valid_seen by a sequence model fitted to 600 training games, 3,000 gradient steps (raw: rooms left out, by number of changes, what it is sure of, minutes); needs ALFWORLD_DATA",
    unit: 'share',
    baseline: 'the games themselves',
    load: () => import('./alfworld-exactness.js'),
  },
  'alfworld.transfer': {
    title:
      "Real steps after which an agent wins a named share of ALFWorld's valid_seen after imitation: the games alone ÷ a dream of 18 episodes and then the games (long; goes on where it was; raw: the dream alone minus the games alone after ten times its real steps, every case); needs ALFWORLD_DATA",
    unit: 'ratio',
    baseline: 'the same learner, walkthroughs and games, with all rounds in the games',
    load: async () => (await import('./text-learning.js')).alfworldTransfer,
  },
  'fidelity.recorded': {
    title:
      "τ-bench's airline answered by router and language model (wrong in one call of ten), held against recorded conversations: observations of the router that are right (raw: each tier off, typed state, retrieval, plain text; states, errors, many steps)",
    unit: 'share',
    baseline: 'what the tools answered when the conversations were recorded',
    load: () => import('./fidelity-recorded.js'),
  },
  'fidelity.speed': {
    title:
      'A full fidelity report on 10,000 transitions of half-cheetah by an ensemble of MBPO shape, two worker threads (the section on learners left out): time',
    unit: 's',
    baseline: 'none',
    load: () => import('./fidelity-speed.js'),
  },
  'trust.answers': {
    title:
      'Planted false replies of a world that are refused by its typed state, without a model (raw: true ones accepted, each check, each miss)',
    unit: 'share',
    baseline: 'none',
    load: () => import('./trust-answers.js'),
  },
  'house.size': {
    title: 'Lines of TypeScript in `src` (raw: each room)',
    unit: 'lines',
    baseline: 'none',
    load: async () => (await import('./house-size.js')).size,
  },
  'house.walk': {
    title:
      'Modules of ours that `reverie synth helpdesk` loads (raw: their names, and those of `train cartpole-swingup`)',
    unit: 'modules',
    baseline: 'none',
    load: async () => (await import('./house-size.js')).walk,
  },
  'house.start': {
    title: '`reverie --help`, from start to end: time beyond that of Node alone (raw: other commands)',
    unit: 'ms',
    baseline: 'node --eval 0',
    load: () => import('./house-start.js'),
  },
  'house.tests': {
    title: 'Continuous integration on a fresh clone, installation included, on two cores: time (raw: each part)',
    unit: 'min',
    baseline: 'none',
    load: () => import('./house-tests.js'),
  },
  'trust.users': {
    title:
      'Planted faults of simulated users told from those of agents ÷ planted; written, of public reports, and planted into recorded conversations',
    unit: 'ratio',
    baseline: 'none',
    load: () => import('./trust-users.js'),
  },
  'trust.rewards': {
    title:
      'Planted episodes (wrong, lucky, incomplete, policy-breaking; right in other words, in another order) in six domains that are given what they are worth (raw: by kind, misses, wrong ones imitated); needs REVERIE_SHARED_DATA',
    unit: 'share',
    baseline: 'none',
    load: () => import('./trust-rewards.js'),
  },
  'trust.tasks': {
    title:
      'Planted and publicly reported defects of tasks that the audit of tasks finds (raw: what it says of the tasks of τ-bench and helpdesk); needs REVERIE_SHARED_DATA',
    unit: 'share',
    baseline: 'none',
    load: () => import('./trust-tasks.js'),
  },
};

function dreamVsBest(body: string): BenchmarkEntry {
  return {
    title: `Area under the curve to 30,000 real steps of ${body} by defaults alone: the best of two dreams and the planner ÷ the best of five baselines (long; goes on where it was)`,
    unit: 'ratio',
    baseline: 'SAC at 1 and 20 updates a real step, REDQ, DroQ, SimBa; the best one',
    load: async () => (await import('./learning.js')).dreamVsBest(body),
  };
}
