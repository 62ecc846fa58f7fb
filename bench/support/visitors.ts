/**
 * A process that a benchmark starts: opens pages again and again, each visitor from a made-up address, until it is
 * killed. Its arguments: the address of the server, how many addresses, how many visitors of each, and the paths.
 */
import { setPriority } from 'node:os'

const [url = '', addresses = '1', each = '1', ...paths] = process.argv.slice(2)
// Visitors are elsewhere: what they cost is not the server's.
setPriority(19)

async function visit(address: string, first: number): Promise<void> {
  for (let n = first; ; n++) {
    const response = await fetch(`${url}${paths[n % paths.length]}`, {
      headers: { 'x-forwarded-for': address, accept: 'text/html' },
    })
    await response.arrayBuffer()
    if (response.status !== 200 && response.status !== 429 && response.status !== 503)
      throw new Error(`${response.status}`)
  }
}

process.stdout.write('visiting\n')
const count = Number(addresses) * Number(each)
await Promise.all(Array.from({ length: count }, (_, n) => visit(`10.0.0.${n % Number(addresses)}`, n)))
