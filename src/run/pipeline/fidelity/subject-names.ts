// Comparisons and charts go by the names of models: each has its own.

/** Those of a name that was there before get a number: `model`, `model 2`. */
export function uniquelyNamed<T extends { readonly name: string }>(subjects: readonly T[]): T[] {
  const taken = new Set<string>();
  return subjects.map((subject) => {
    let name = subject.name;
    for (let number = 2; taken.has(name); number++) name = `${subject.name} ${number}`;
    taken.add(name);
    return { ...subject, name };
  });
}
