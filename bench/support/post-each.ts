/**
 * A process that a benchmark starts: posts the same body once for each line of a file, with the line as `X-PAYMENT`
 * where it is not empty, over so many connections, and prints how long that took. Its one argument is a
 * {@link PostEachArguments} as JSON.
 */

import { readFileSync } from 'node:fs'
import { Pool } from 'undici'

export interface PostEachArguments {
  readonly url: string
  readonly body: string
  readonly headersFile: string
  readonly connections: number
}

const { url, body, headersFile, connections } = JSON.parse(process.argv[2] ?? '') as PostEachArguments
const { origin, pathname } = new URL(url)
const lines = readFileSync(headersFile, 'utf8').split('\n')
const pool = new Pool(origin, { connections, pipelining: 1 })
let next = 0
let answered = 0

async function post(): Promise<void> {
  while (next < lines.length) {
    const payment = lines[next++] ?? ''
    const headers = { 'content-type': 'application/json', ...(payment !== '' && { 'x-payment': payment }) }
    const response = await pool.request({ path: pathname, method: 'POST', headers, body })
    const text = await response.body.text()
    if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${text}`)
    answered += 1
  }
}

const start = performance.now()
await Promise.all(Array.from({ length: connections }, post))
process.stdout.write(JSON.stringify({ units: answered, milliseconds: performance.now() - start }))
await pool.close()
