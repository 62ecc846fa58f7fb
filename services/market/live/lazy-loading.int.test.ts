import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const INDEX = new URL('../index.ts', import.meta.url).href

/** Imports the service, perhaps makes a feed, and prints which files of ccxt were loaded. */
const script = (then: string): string => `
  import { registerHooks } from 'node:module'
  const loaded = []
  registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
  const market = await import('${INDEX}')
  const options = {
    exchanges: ['OKX'], venueUrls: { OKX: 'http://127.0.0.1:9' },
    now: () => 0, sleep: async () => {}, random: () => 0, report: () => {},
  }
  ${then}
  console.log(loaded.filter((url) => url.includes('/ccxt/')).length)
`

async function ccxtFilesLoaded(then: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script(then)])
  return Number(stdout)
}

test('ccxt is loaded when a venue is asked, not before', async () => {
  expect(await ccxtFilesLoaded('new market.LiveFeed(options).venues()')).toBe(0)
  expect(await ccxtFilesLoaded('await new market.LiveFeed(options).listings()')).toBeGreaterThan(50)
})
