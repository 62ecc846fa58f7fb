import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const SCRIPT = `
const { registerHooks } = await import('node:module')
const loaded = []
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
await import(${JSON.stringify(new URL('./start-service.ts', import.meta.url).href)})
process.stdout.write(JSON.stringify([...loaded, ...process.moduleLoadList]))`

it('loads no client for the web before somebody needs one', () => {
  const args = ['--input-type=module', '--eval', SCRIPT]
  const loaded = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as string[]
  const heavy = [/internal\/deps\/undici/, /node_modules\/(?:ccxt|undici)\//]
  expect(loaded.some((name) => name.includes('node_modules/fastify/'))).toBe(true)
  expect(loaded.filter((name) => heavy.some((one) => one.test(name)))).toEqual([])
})

/** Modules of the service, of its sealed days and of its longest thread, which refuses to run here. */
const STRIPPED = `
await Promise.allSettled(${JSON.stringify(['start-service.ts', '../analyst/sealing/seal-day.ts', '../analyst/formats/encode-sealed.ts', '../log/embedded/writer-thread.ts'].map((name) => new URL(name, import.meta.url).href))}.map((url) => import(url)))
process.stdout.write(String(process.moduleLoadList.some((name) => name.includes('/amaro/'))))`

it('needs nothing that strips types once its modules are compiled', () => {
  const folder = mkdtempSync(join(tmpdir(), 'compiled-'))
  const run = (...args: string[]): string =>
    execFileSync(process.execPath, args, {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: folder },
    })
  const isStripping = (): string => run('--input-type=module', '--eval', STRIPPED)
  try {
    expect(isStripping()).toBe('true')
    rmSync(folder, { recursive: true })
    expect(run(join(import.meta.dirname, '../keep-compiled.js'))).toBe('')
    expect(isStripping()).toBe('false')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
