import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import type { SearchRequest } from '../../../contracts/tools/free-tools.ts'
import { createServer } from '../../composition/server.ts'
import { fakeKnowledgeService } from '../../http/testing/knowledge-service.fixture.ts'
import { serverOptions } from '../../http/testing/server-options.fixture.ts'
import type { DocPage } from '../../knowledge/index.ts'
import { docPage } from '../../knowledge/pages.ts'
import { PAGE_POLICY } from '../layout.ts'

const HOSTILE = `# A <script>alert(1)</script> page

Text with \`<b>code</b>\`, **bold & "quoted"**, [a page](other.md#here), [a place](#two), [elsewhere](https://a.example/?x=1&y="2"),
[a trap](javascript:alert%281%29), [a file](../../package.json), [a missing page](missing.md) https://host.example, A <a@b.example> and <img src=x onerror=alert(1)>.

## One
## Two "quoted"
| a | <i>b</i> |
|---|---|
| \`1\` | [x](other.md) |

## Three

1. first
2. second

- a **b**

\`\`\`html
<style>body { display: none }</style>
\`\`\`
`

const PAGES = new Map<string, DocPage>([
  ['hostile', docPage('hostile', HOSTILE)],
  ['other', docPage('other', '# Other\n\nThe first sentence. The second.\n')],
  [
    'for-bots',
    docPage(
      'for-bots',
      '# Bots\n\nFor bots: they ask. See [other.md](other.md#here), [`other.md`](other.md) and [a bot](examples/bot.py).\n\n```sh\ncurl http://127.0.0.1:8402/livez\n```\n',
    ),
  ],
])
let app: FastifyInstance

beforeAll(async () => {
  const found = { id: 'other#here', title: 'Other <b>', url: '', excerpt: 'The first sentence.', score: 1 }
  const knowledge = {
    pages: async () => [...PAGES.values()],
    page: async (name: string) => PAGES.get(name),
    search: async ({ query }: SearchRequest) => {
      const results = query === 'sentence' ? [found] : []
      return { query, total: results.length, results }
    },
  }
  const examples = new Map([['bot.py', 'URL = "http://127.0.0.1:8402"\n']])
  const publicUrl = () => 'https://signals.example.com'
  app = await createServer(
    serverOptions({ publicUrl, knowledge: { service: fakeKnowledgeService().service, knowledge, examples } }),
  )
})
afterAll(() => app.close())

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })

describe('GET /docs', () => {
  test('lists every page with its first sentence', async () => {
    const { statusCode, headers, body } = await get('/docs')
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(body).toContain('<a href="/docs/other">Other</a> <span class="dim">The first sentence.</span>')
    expect(body).toContain('A &lt;script&gt;alert(1)&lt;/script&gt; page')
  })
})

describe('GET /docs?q=', () => {
  test('lists the sections that fit, as text', async () => {
    const { body } = await get('/docs?q=%20sentence')
    expect(body).toContain('<li><a href="/docs/other#here">Other &lt;b&gt;</a><br>')
    expect(body).toContain('value="sentence"')
  })

  test.each([
    ['nothing that fits', 'zebra', 200, 'No section has these words'],
    ['no words', '', 200, '>Other</a>'],
    ['too many', 'a'.repeat(LIMITS.searchCharacters + 1), 400, 'invalid_request'],
  ])('of %s says so', async (_, words, status, text) => {
    const { statusCode, body } = await get(`/docs?q=${words}`)
    expect([statusCode, body]).toEqual([status, expect.stringContaining(text)])
  })
})

describe('a page of a running service', () => {
  test('is listed with its whole first sentence', async () => {
    expect((await get('/docs')).body).toContain('<span class="dim">For bots: they ask.</span>')
  })

  test('names the address that serves it, and pages instead of files', async () => {
    const { body } = await get('/docs/for-bots')
    expect(body).toContain('curl https://signals.example.com/livez')
    expect(body).not.toContain('8402')
    expect(body).toContain('<a href="/docs/other#here">other</a>')
    expect(body).toContain('<a href="/docs/other"><code>other</code></a>')
  })

  test('leads to the programs that it shows, which ask the same address', async () => {
    expect((await get('/docs/for-bots')).body).toContain('<a href="/docs/examples/bot.py">a bot</a>')
    const { headers, body } = await get('/docs/examples/bot.py')
    expect(headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(body).toBe('URL = "https://signals.example.com"\n')
    for (const name of ['nothing.py', '..%2f..%2fpackage.json', '__proto__']) {
      const response = await get(`/docs/examples/${name}`)
      expect([response.statusCode, response.json<{ code: string }>().code]).toEqual([404, 'not_found'])
    }
  })
})

describe('GET /docs/:page', () => {
  test('is the page as it was written, at the name of its file', async () => {
    const { headers, body } = await get('/docs/for-bots.md')
    expect(headers['content-type']).toBe('text/markdown; charset=utf-8')
    expect(body).toMatch(/^# /)
    expect(body).toContain('https://signals.example.com')
  })

  test('is the page, without anything that a browser would run or load', async () => {
    const { statusCode, headers, body } = await get('/docs/hostile')
    expect(statusCode).toBe(200)
    expect(headers['content-security-policy']).toBe(PAGE_POLICY)
    const main = body.slice(body.indexOf('<main '), body.indexOf('</main>'))
    const tags = new Set([...main.matchAll(/<([a-z0-9]+)/g)].map(([, tag]) => tag))
    const harmless =
      'main nav div p a h1 h2 code strong table thead tbody tr th td ol ul li pre details summary'.split(' ')
    expect([...tags].filter((tag) => !harmless.includes(tag ?? ''))).toEqual([])
    const targets = [...main.matchAll(/href="([^"]*)"/g)].map(([, target]) => target)
    expect(new Set(targets)).toEqual(
      new Set([
        '/docs',
        '#one',
        '#two-quoted',
        '#three',
        '/docs/other#here',
        '#two',
        'https://a.example/?x=1&amp;y=&quot;2&quot;',
        '/docs/other',
      ]),
    )
    expect(main).toContain('<code>&lt;b&gt;code&lt;/b&gt;</code>')
    expect(main).toContain('<strong>bold &amp; &quot;quoted&quot;</strong>')
    expect(main).toContain('a trap, a file, a missing page https://host.example, A &lt;a@b.example&gt;')
  })

  test('has an anchor for every section, where search results lead', async () => {
    const { body } = await get('/docs/hostile.md', { accept: 'text/html' })
    expect([...body.matchAll(/<h2 id="([^"]+)">/g)].map(([, id]) => id)).toEqual([
      'one',
      'two-quoted',
      'three',
    ])
  })

  test('that is still the same is not sent again', async () => {
    const etag = String((await get('/docs/other')).headers.etag)
    const again = await get('/docs/other', { 'if-none-match': etag })
    expect([again.statusCode, again.body]).toEqual([304, ''])
  })

  test.each([
    '/docs/missing',
    '/docs/..%2f..%2fpackage.json',
    '/docs/..%5c..%5cetc',
    '/docs/other%00',
    '/docs/constructor',
    '/docs/__proto__',
  ])('%s is not there', async (url) => {
    const response = await get(url)
    expect([response.statusCode, response.json()]).toEqual([
      404,
      expect.objectContaining({ code: 'not_found' }),
    ])
  })
})
