#!/usr/bin/env node
import module from 'node:module'
import { isRuntimeNewEnough } from './is-runtime-new-enough.js'

if (isRuntimeNewEnough('the command line', 'npm run -s signal -- …')) {
  module.enableCompileCache()
  const { cli } = await import('./cli.ts')
  process.exitCode = await cli(process.argv.slice(2), process.env)
}
