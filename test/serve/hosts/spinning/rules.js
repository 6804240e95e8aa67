export const tools = {
  count(state) {
    state.count += 1;
    return `This is ${state.count}.`;
  },
  spin(state) {
    while (true) state.count;
  },
};
export const checks = { counted: ({ finalState }) => finalState.count === 2 };
