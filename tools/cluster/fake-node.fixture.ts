import { createServer } from 'node:http'

/** A node of a store for tests: says its state, and which others answer it. The first of its name leads. */
const [port = '', others = '', folder = ''] = process.argv.slice(2)
const ANSWER_MS = 1_000

const answers = (address: string): Promise<boolean> =>
  fetch(`http://${address}/info`, { signal: AbortSignal.timeout(ANSWER_MS) }).then(
    (answer) => answer.ok,
    () => false,
  )

const state = folder.endsWith('node1') ? 'Leader' : 'Follower'

async function said(path: string | undefined): Promise<string> {
  const reached = path === '/others' ? await Promise.all(others.split(',').map(answers)) : []
  return JSON.stringify({ state, reached })
}

createServer((request, response) => void said(request.url).then((text) => response.end(text))).listen(
  Number(port),
  '127.0.0.1',
)
