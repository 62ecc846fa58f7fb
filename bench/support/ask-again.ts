/**
 * A process that a benchmark starts: asks over and over, each question on a connection of its own, and prints how many
 * answers were given and how many refused. Its arguments: for how many milliseconds, and the questions as JSON.
 */
export interface Question {
  readonly method: string
  readonly url: string
  readonly key: string
  readonly body?: object
}

const [forMs = '2000', text = '[]'] = process.argv.slice(2)
const end = performance.now() + Number(forMs)
const counts = { answered: 0, refused: 0 }

async function ask({ method, url, key, body }: Question): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) }
  while (performance.now() < end) {
    const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    await response.text()
    counts[response.ok ? 'answered' : 'refused'] += 1
  }
}
await Promise.all((JSON.parse(text) as Question[]).map(ask))
process.stdout.write(JSON.stringify(counts))
