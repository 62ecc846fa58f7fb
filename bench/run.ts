import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { print } from './support/measure.ts'

/** Runs every benchmark, one after the other, each in a process of its own. `npm run bench [-- name …]` */
const wanted = process.argv.slice(2)
const files = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.bench.ts'))
  .filter((file) => wanted.length === 0 || wanted.some((name) => file.startsWith(`${name}.`)))

print(`Node.js ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown CPU'}`)
for (const file of files) {
  print(`\n== ${file}`)
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, file)], { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
