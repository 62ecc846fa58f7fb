/**
 * A process that a benchmark starts: for each line with a number of milliseconds it makes tool calls one after the other
 * for so long, and answers with a line that says how long each took, a JSON list of milliseconds. Its arguments:
 * the address, and the key.
 */
import { createInterface } from 'node:readline'

const [url = '', key = ''] = process.argv.slice(2)
const call = { name: 'get_trade_call', arguments: { coin: 'BTC' } }
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call })
const headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  authorization: `Bearer ${key}`,
}
for await (const forMs of createInterface(process.stdin)) {
  const latencies: number[] = []
  const end = performance.now() + Number(forMs)
  while (performance.now() < end) {
    const begun = performance.now()
    const response = await fetch(`${url}/mcp`, { method: 'POST', headers, body })
    await response.text()
    if (!response.ok) throw new Error(`${response.status}`)
    latencies.push(performance.now() - begun)
  }
  process.stdout.write(`${JSON.stringify(latencies)}\n`)
}
