import module from 'node:module'
import { fileURLToPath } from 'node:url'
import v8 from 'node:v8'
import { isRuntimeSound, runOnOwnNode } from './own-node.js'

if (isRuntimeSound()) {
  // This thread has its size by now; it would be that of all threads, whatever each is told.
  v8.setFlagsFromString('--max-semi-space-size=0')
  module.enableCompileCache()
  const { main } = await import('./main.ts')
  process.exit(await main(process.argv.slice(2), process.env))
} else {
  // As the package and the image do: short-lived objects take a quarter of the memory that they take otherwise.
  runOnOwnNode(['--max-semi-space-size=16', fileURLToPath(import.meta.url), ...process.argv.slice(2)])
}
