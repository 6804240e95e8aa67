const item = (state, id) => {
  if (!Object.hasOwn(state.items, id)) throw new ToolError(`Item ${id} not found`);
  return state.items[id];
};

export const tools = {
  get_stock: (state, { item_id }) => ({ item_id, ...item(state, item_id) }),
  find_items: (state, { word }) =>
    Object.entries(state.items).flatMap(([item_id, one]) => (one.name.includes(word) ? [{ item_id, ...one }] : [])),
  ship(state, { item_id, count }) {
    const one = item(state, item_id);
    if (one.quantity < count) throw new ToolError(`There are only ${one.quantity}`);
    one.quantity -= count;
    return { item_id, quantity: one.quantity };
  },
  put_on_list(state, { item_ids }) {
    for (const id of item_ids) item(state, id);
    state.list = item_ids;
    return { list: item_ids };
  },
  close_day(state) {
    state.closed = true;
    return { closed: true };
  },
};
