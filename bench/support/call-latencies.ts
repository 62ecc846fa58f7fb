/**
 * A process that a benchmark starts: makes tool calls one after the other and prints how long each took, as a JSON list
 * of milliseconds. Its arguments: the address, and for how many milliseconds.
 */
const [url = '', forMs = '2000'] = process.argv.slice(2)
const call = { name: 'get_trade_call', arguments: { coin: 'BTC' } }
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call })
const headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  authorization: 'Bearer sk_live_bench',
}
const latencies: number[] = []
const end = performance.now() + Number(forMs)
for (let n = 0; performance.now() < end; n++) {
  const begun = performance.now()
  const response = await fetch(`${url}/mcp`, { method: 'POST', headers, body })
  await response.text()
  if (!response.ok) throw new Error(`${response.status}`)
  // The first ones find nothing warm.
  if (n >= 20) latencies.push(performance.now() - begun)
}
process.stdout.write(JSON.stringify(latencies))
