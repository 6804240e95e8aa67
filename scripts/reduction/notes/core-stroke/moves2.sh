M="node ./core-stroke/merge-nb.mjs"
$M --dir src/core src/store
$M src/core/files.ts src/core/temporary-folder.ts src/core/file-bytes.ts src/core/atomic-file.ts src/core/sealed-json.ts
$M src/core/canonical-json.ts src/core/json.ts src/core/canonical-json.ts src/core/hash.ts
$M src/core/folder-lock.ts src/core/living-process.ts src/core/folder-lock.ts
$M src/core/threads.ts src/core/worker-url.ts src/core/stop-flag.ts src/core/asked-thread.ts src/core/turn.ts src/core/concurrently.ts
$M src/core/statistics.ts src/core/statistics.ts src/core/joined.ts
$M src/core/policy.ts src/core/policy.ts src/core/acting.ts
$M src/core/kind.ts src/core/kind.ts src/core/fidelity-sections.ts
$M src/core/rng.ts src/core/rng.ts src/core/rng-log.ts
$M src/core/environment.ts src/core/environment.ts src/core/spaces.ts
$M src/core/packs.ts src/core/packs.ts src/core/late-packages.ts
$M src/core/evaluation-set.ts src/core/panel.ts
$M src/core/pool-thread.ts src/pool/pool-thread.ts
$M src/core/pool-task.ts src/pool/messages.ts src/pool/task.ts src/pool/in-order.ts src/pool/shared-bytes.ts
$M src/core/pool.ts src/pool/worker-pool.ts
$M --dir test/core test/store
$M --dir test/core test/pool
git mv test/pool/tasks.mjs test/core/tasks.mjs
rmdir src/store src/pool test/store test/pool
