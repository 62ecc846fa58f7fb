#!/usr/bin/env node
import module from 'node:module'

// Plain JavaScript, because an older Node cannot even read what it would have to refuse.
const [major] = process.versions.node.split('.').map(Number)
if (major < 24) {
  process.stderr.write(
    `error runtime_too_old: this is Node.js ${process.versions.node}; the command line needs 24 or newer.\n` +
      'Run it with `npm run -s signal -- …`, which brings its own Node.js 24, or install Node.js 24.\n',
  )
  process.exitCode = 11
} else {
  module.enableCompileCache()
  const { cli } = await import('./cli.ts')
  process.exitCode = await cli(process.argv.slice(2), process.env)
}
