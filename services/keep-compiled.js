// Compiles what the service loads, after `npm ci` and in the image: a start reads it in half the time, and needs nothing
// that strips types, which would hold 20 MB in each thread until the end.
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import { findOwnNode, isRuntimeSound, runOnOwnNode, useMemorySettings } from './own-node.js'

if (isRuntimeSound()) {
  // The same options as a start: compiled modules are kept for each choice of them.
  useMemorySettings()
  module.enableCompileCache()
  // Threads refuse to run here, once their modules are loaded.
  await Promise.allSettled([
    import('./main.ts'),
    import('./composition/start-service.ts'),
    import('./analyst/formats/encode-sealed.ts'),
    import('./analyst/replay-thread.ts'),
    import('./log/embedded/archive-thread.ts'),
    import('./log/embedded/scrub-thread.ts'),
    import('./log/embedded/writer-thread.ts'),
  ])
  module.flushCompileCache()
} else if (findOwnNode() !== undefined) {
  runOnOwnNode(['--max-semi-space-size=16', fileURLToPath(import.meta.url)])
}
