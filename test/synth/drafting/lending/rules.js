const book = (state, id) => {
  if (!Object.hasOwn(state.books, id)) throw new ToolError('Book ' + id + ' not found');
  return state.books[id];
};
export const tools = {
  get_book: (state, { book_id }) => book(state, book_id),
  lend_book(state, { member_id, book_id }) {
    const found = book(state, book_id);
    if (!Object.hasOwn(state.members, member_id)) throw new ToolError('Member ' + member_id + ' not found');
    if (found.lentTo !== null) throw new ToolError('Book ' + book_id + ' is lent');
    found.lentTo = member_id;
    return found;
  },
  return_book(state, { book_id }) {
    const found = book(state, book_id);
    if (found.lentTo === null) throw new ToolError('Book ' + book_id + ' is here');
    found.lentTo = null;
    return found;
  },
};
