// Where an answer is awaited. Says so only if it takes a while, so that nothing flickers.

export function Loading() {
  return (
    <p class="loading" role="status">
      Loading …
    </p>
  );
}
