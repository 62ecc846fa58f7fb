import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'

const SCRIPT = `
const { loadUndici } = await import(${JSON.stringify(new URL('./load-undici.ts', import.meta.url).href)})
const { openSync, closeSync } = await import('node:fs')
const told = []
for (const left of [0, 1, 0, 3]) {
  const open = []
  // Opens files until the limit refuses one.
  try { for (;;) open.push(openSync('/dev/null')) } catch {}
  for (let n = 0; n < left; n++) closeSync(open.pop())
  try { loadUndici(); told.push('loaded') } catch { told.push('not') }
  for (const one of open) closeSync(one)
}
process.stdout.write(told[0] + ', ' + typeof loadUndici().Client)`

// Windows has no ulimit.
it.skipIf(process.platform === 'win32')('is loaded once files can be opened again', () => {
  const args = ['-c', 'ulimit -n 200; exec "$0" --input-type=module --eval "$1"', process.execPath, SCRIPT]
  expect(execFileSync('sh', args, { encoding: 'utf8' })).toBe('not, function')
})
