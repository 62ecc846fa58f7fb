import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Client, createClientDocuments, type FetchedDocument } from './client-documents.ts'

const idOf = (name: string, host = 'app.example'): string => `https://${host}/${name}.json`
const answerOf = (clientId: string): FetchedDocument => ({
  status: 200,
  contentType: 'application/json',
  maxAgeS: 3_600,
  body: JSON.stringify({
    client_id: clientId,
    client_name: 'App',
    redirect_uris: ['https://app.example/cb'],
  }),
})

/** Documents of hosts that answer when the test says so, and how often each was asked for. */
function world() {
  const time = { now: 0 }
  const fetched: string[] = []
  const admitted: string[] = []
  const coming = new Map<string, PromiseWithResolvers<FetchedDocument>>()
  const documents = createClientDocuments({
    now: () => time.now,
    fetchDocument(url) {
      fetched.push(url)
      if (!url.includes('slow')) return Promise.resolve(answerOf(url))
      const one = Promise.withResolvers<FetchedDocument>()
      coming.set(url, one)
      return one.promise
    },
  })
  return {
    time,
    fetched,
    admitted,
    documents,
    find: (clientId: string, name = 'ada'): Promise<Client> =>
      documents.find(clientId, { name, admit: async () => void admitted.push(name) }),
    fail: async (clientId: string) => {
      coming.get(clientId)?.reject(new Error('it did not come within 2 s'))
      await settle()
    },
    give: async (clientId: string) => {
      coming.get(clientId)?.resolve(answerOf(clientId))
      await settle()
    },
  }
}
const settle = async (): Promise<void> => {
  for (let n = 0; n < 30; n++) await Promise.resolve()
}
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'found',
    (error: { readonly code?: string }) => error.code,
  )

describe('a document', () => {
  test('that cannot be used is not fetched again for half a minute, and is then', async () => {
    const { find, fail, fetched, time } = world()
    const first = codeOf(find(idOf('slow')))
    await settle()
    await fail(idOf('slow'))
    expect(await first).toBe('invalid_client')
    time.now += LIMITS.clientDocumentFailedMs - 1
    expect(await codeOf(find(idOf('slow'), 'bob'))).toBe('invalid_client')
    expect(fetched).toHaveLength(1)
    time.now += 1
    void codeOf(find(idOf('slow')))
    await settle()
    expect(fetched).toHaveLength(2)
  })

  test('that is under way is not fetched twice, and who asks for it is counted', async () => {
    const { find, give, fetched, admitted } = world()
    const all = ['ada', 'bob', 'ada'].map((name) => find(idOf('slow'), name))
    await settle()
    await give(idOf('slow'))
    expect(await Promise.all(all)).toHaveLength(3)
    expect([fetched.length, admitted]).toEqual([1, ['ada', 'bob', 'ada']])
    await find(idOf('slow'), 'eve')
    expect(admitted).not.toContain('eve')
  })
})

describe('documents that never come', () => {
  test('of one asker hold one place: somebody else’s come at once', async () => {
    const { find } = world()
    for (let n = 0; n < 20; n++) void codeOf(find(idOf('slow', `a${n}.example`)))
    await settle()
    expect(await codeOf(find(idOf('mine'), 'bob'))).toBe('found')
    expect(await codeOf(find(idOf('slow', 'other.example')))).toBe('temporarily_unavailable')
  })

  test('of one host hold two places, whoever asks', async () => {
    const { find } = world()
    for (let n = 0; n < 20; n++) void codeOf(find(idOf(`slow-${n}`, 'slow.example'), `asker ${n}`))
    await settle()
    expect(await codeOf(find(idOf('another', 'slow.example'), 'bob'))).toBe('temporarily_unavailable')
    expect(await codeOf(find(idOf('mine'), 'bob'))).toBe('found')
  })

  test('of many askers let the next one in when one has failed', async () => {
    const { find, fail } = world()
    const hosts = Array.from({ length: LIMITS.clientDocumentsAtOnce }, (_, n) => `h${n}.example`)
    for (const host of hosts) {
      for (let n = 0; n < 3; n++) void codeOf(find(idOf(`slow-${n}`, host), host))
    }
    await settle()
    const visitor = codeOf(find(idOf('mine'), 'visitor'))
    await settle()
    await fail(idOf('slow-0', 'h0.example'))
    expect(await visitor).toBe('found')
  })
})

test('five hundred strange documents do not push out one of a program that acts for somebody', async () => {
  const { find, documents, fetched } = world()
  documents.keep(await find(idOf('known')))
  await find(idOf('stranger'))
  for (let n = 0; n < LIMITS.clientDocumentsKept; n++) {
    await codeOf(find(idOf(`s${n}`, `${n}.example`), `asker ${n}`))
  }
  fetched.length = 0
  await find(idOf('known'))
  expect(fetched).toEqual([])
  await find(idOf('stranger'))
  expect(fetched).toEqual([idOf('stranger')])
})
