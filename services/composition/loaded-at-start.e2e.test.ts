import { execFileSync } from 'node:child_process'
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
