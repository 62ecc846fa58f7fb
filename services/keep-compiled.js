// Compiles what the service loads, after `npm ci` and in the image: a start reads it in half the time, and needs nothing
// that strips types, which would hold 20 MB in each thread until the end.
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import { findOwnNode, isRuntimeSound, runOnOwnNode, useMemorySettings } from './own-node.js'

/** The start, and all that is loaded later by every service. */
const LOADED = [
  'main.ts',
  'composition/start-service.ts',
  'analyst/formats/encode-sealed.ts',
  'analyst/replay-thread.ts',
  'log/embedded/writer-thread.ts',
]

if (isRuntimeSound()) {
  // The same options as a start: compiled modules are kept for each choice of them.
  useMemorySettings()
  module.enableCompileCache()
  // Threads refuse to run here, once their modules are loaded.
  await Promise.allSettled(LOADED.map((name) => import(new URL(name, import.meta.url).href)))
  module.flushCompileCache()
} else if (findOwnNode() !== undefined) {
  runOnOwnNode(['--max-semi-space-size=16', fileURLToPath(import.meta.url)])
}
