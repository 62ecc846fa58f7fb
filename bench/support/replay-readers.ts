/**
 * A process that a benchmark starts: reads replays again and again, several at a time, from made-up addresses, until it
 * is killed. Its arguments: the address of the server, how many addresses, how many replays of each, and the query.
 */
import { setPriority } from 'node:os'

const [url = '', addresses = '1', each = '4', query = ''] = process.argv.slice(2)
// Readers are elsewhere: what they cost is not the server's.
setPriority(19)

async function read(address: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/api/verdicts${query}`, { headers: { 'x-forwarded-for': address } })
    if (!response.ok || response.body === null)
      throw new Error(`${response.status}: ${await response.text()}`)
    for await (const _ of response.body) continue
  }
}

process.stdout.write('reading\n')
await Promise.all(
  Array.from({ length: Number(addresses) * Number(each) }, (_, n) => read(`10.0.0.${n % Number(addresses)}`)),
)
