import module from 'node:module'
import { isRuntimeNewEnough } from './is-runtime-new-enough.js'

if (isRuntimeNewEnough('the service', 'npm start')) {
  module.enableCompileCache()
  const { main } = await import('./main.ts')
  process.exitCode = await main(process.argv.slice(2), process.env)
}
