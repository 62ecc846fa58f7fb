import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { verdictStream } from '../../../contracts/streams.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import { checkCosigned } from '../audit/cosigned-history.ts'
import { createFindings } from '../audit/finding.ts'
import { openCheckpoint, signCheckpoint } from '../notes/checkpoint.ts'
import { SIGNATURE_TYPES, signerOf, type Verifier } from '../notes/note-keys.ts'
import { checkProof } from '../proof-file.ts'
import { type MadeUpLog, NOW, nextId, openMadeUpLog } from '../testing/made-up-log.fixture.ts'
import { ENTRY_BYTES } from '../tree/entry.ts'
import { consistencyProof, hashesOver, leafHash, rootOf } from '../tree/merkle.ts'
import { formatAddCheckpoint } from './add-checkpoint.ts'
import { Cosigner } from './cosigner.ts'
import { loadPolicy, parsePolicy } from './policy.ts'
import { cosignersOf, createWitness, witnessServer } from './witness.ts'

const ORIGIN = 'signals.example.com/log'
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'witness-'))
  closing.push(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** Cosigns over HTTP; opened again on a folder, it is the same witness. */
async function openWitness(directory: string, logs: readonly Verifier[], name = 'witness.example.com/one') {
  const seed = new Uint8Array(32).fill(name.length)
  const signers = cosignersOf(
    [SIGNATURE_TYPES.ed25519, SIGNATURE_TYPES.mlDsa44].map((type) => ({ type, seed }) as const),
    name,
  )
  const witness = createWitness({ signers, logs, directory, now: () => NOW })
  const server: Server = witnessServer(witness, () => undefined)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  closing.push(() => server.close().closeAllConnections())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    signers,
    async post(body: string, path = '/add-checkpoint') {
      const answer = await fetch(`${url}${path}`, { method: 'POST', body })
      return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
    },
  }
}

const LOG_KEY = signerOf(ORIGIN, SIGNATURE_TYPES.ed25519, new Uint8Array(32).fill(1))

/** A tree of entries that are told apart by a word. */
function treeOf(word: string, size: number) {
  const leaves = Array.from({ length: size }, (_, index) => leafHash(Buffer.from(`${word} ${index}`)))
  const checkpoint = { origin: ORIGIN, size, root: rootOf(hashesOver(leaves), size) }
  return {
    checkpoint,
    request: (old: number, key = LOG_KEY) =>
      formatAddCheckpoint({
        old,
        proof: old > size ? [] : consistencyProof(hashesOver(leaves), old, size),
        note: signCheckpoint({ ...checkpoint, origin: key.name }, [key], 0),
      }),
  }
}

test('a witness cosigns growth, refuses a fork, and signs nothing older after a restart', async () => {
  const directory = folder()
  const witness = await openWitness(directory, [LOG_KEY])
  const grown = treeOf('entry', 7)
  expect(await witness.post(treeOf('entry', 3).request(0))).toMatchObject({ status: 200 })
  const { status, text } = await witness.post(grown.request(3))
  expect(status).toBe(200)
  const note = signCheckpoint(grown.checkpoint, [LOG_KEY], 0) + text
  expect(openCheckpoint(note, witness.signers).signatures.map(({ time }) => time)).toEqual([
    NOW / 1_000,
    NOW / 1_000,
  ])
  // Another history of the same log, from before and behind what was seen.
  const fork = treeOf('forked', 9)
  expect(await witness.post(fork.request(7))).toMatchObject({ status: 422 })
  const conflict = { status: 409, type: 'text/x.tlog.size', text: '7\n' }
  expect(await witness.post(fork.request(3))).toEqual(conflict)
  expect(await witness.post(treeOf('forked', 7).request(7))).toEqual(conflict)

  const again = await openWitness(directory, [LOG_KEY])
  expect(await again.post(treeOf('entry', 3).request(0))).toEqual(conflict)
  expect(await again.post(treeOf('entry', 3).request(3))).toEqual(conflict)
  expect(await again.post(treeOf('entry', 3).request(7))).toMatchObject({ status: 400 })
  expect(await again.post(treeOf('entry', 12).request(7))).toMatchObject({ status: 200 })
})

test('of two requests that stand on the same size, a witness cosigns one', async () => {
  const witness = await openWitness(folder(), [LOG_KEY])
  const answers = await Promise.all(['one', 'two'].map((word) => witness.post(treeOf(word, 4).request(0))))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]))
})

test('what is no request of a log that a witness knows is refused, each for its reason', async () => {
  const witness = await openWitness(folder(), [LOG_KEY])
  const tree = treeOf('entry', 3)
  const stranger = signerOf('other.example.com/log', SIGNATURE_TYPES.ed25519, new Uint8Array(32).fill(2))
  const impostor = signerOf(ORIGIN, SIGNATURE_TYPES.ed25519, new Uint8Array(32).fill(2))
  const good = tree.request(0)
  const statuses = await Promise.all(
    [
      tree.request(0, stranger),
      tree.request(0, impostor),
      good.replace('old 0', 'old 00'),
      good.replace('old 0\n', `old 0\n${'x'.repeat(44)}\n`),
      good.replace('\n\n—', '\nan extension\n\n—'),
      good.slice(0, 40),
      '',
      'x'.repeat(300_000),
    ].map(async (body) => (await witness.post(body)).status),
  )
  expect(statuses).toEqual([404, 403, 400, 400, 400, 400, 400, 413])
  expect((await witness.post(good, '/other')).status).toBe(404)
  expect((await fetch(`${witness.url}/add-checkpoint`)).status).toBe(405)
  expect((await witness.post(good)).status).toBe(200)
})

/** Has a log cosigned under a policy, until there is nothing left to ask. */
function cosigning(log: MadeUpLog, policy: string, clock = { now: NOW }) {
  const problems: string[] = []
  const cosigner = new Cosigner({
    policy: parsePolicy(policy),
    store: log.store,
    tree: log.tree,
    row: log.row,
    fetch,
    newId: nextId,
    now: () => clock.now,
    marketNow: () => clock.now,
    sleep: async () => undefined,
    onProblem: (witness, why) => void problems.push(`${witness}: ${why}`),
  })
  return {
    problems,
    clock,
    async look() {
      expect(await log.sign()).toBeUndefined()
      await cosigner.look(new AbortController().signal)
      await log.catchUp()
    },
  }
}

async function openLog(): Promise<{ log: MadeUpLog; keys: readonly Verifier[] }> {
  const log = await openMadeUpLog()
  closing.push(() => log.remove())
  await log.sign()
  return { log, keys: log.keys() }
}

test('a log has its growth cosigned, with a witness away, and says how many verdicts were in time', async () => {
  const { log, keys } = await openLog()
  const [here, away] = [
    await openWitness(folder(), keys),
    await openWitness(folder(), keys, 'away.example.com/witness-two'),
  ]
  const policy = [
    `witness here ${here.signers[0]?.vkey} ${here.url}/`,
    `witness away ${away.signers[1]?.vkey} http://127.0.0.1:9`,
    'group either any here away',
    'quorum either',
    '',
  ].join('\n')
  const cosigned = cosigning(log, policy)
  expect(() => log.views.cosigned()).toThrow(/No witness/)
  expect(log.views.witnesses()).toMatchObject({ newest: null, share: null, verdicts: 0 })
  await cosigned.look()
  expect(cosigned.problems).toEqual([expect.stringMatching(/^away\.example\.com/)])
  const first = openCheckpoint(log.views.cosigned(), here.signers).checkpoint.size
  expect(log.views.cosigned()).toBe(log.views.checkpoint())

  // One window that is open, one that has closed; a new process does not know what the witness knows.
  const [, id] = await log.record(20, 2)
  await cosigning(log, policy).look()
  expect(log.views.witnesses()).toMatchObject({
    newest: { size: first + 2, witnesses: ['witness.example.com/one'] },
    since_size: first,
    verdicts: 2,
    cosigned_before_close: 1,
    share: 0.5,
    entries_waiting: 0,
  })
  const newest = log.store.read(verdictStream(aVerdict({})), { direction: 'backwards', limit: 1 })
  const { value: event } = await newest[Symbol.asyncIterator]().next()
  if (event?.id !== id) throw new Error('the newest verdict is expected')
  const proof = await log.views.proof(event, new AbortController().signal)
  expect(checkProof(proof, here.signers)).toMatchObject({ content: { id } })

  // An audit asks for a quorum, of the tree that is shown.
  const leaves = Array.from({ length: first + 2 }, (_, index) => {
    const start = index * ENTRY_BYTES
    return leafHash(log.tree.entries(0).subarray(start, start + ENTRY_BYTES))
  })
  const { checkpoint, signatures } = openCheckpoint(log.views.checkpoint(), keys)
  const shown = { checkpoint, signatures, leaves: Buffer.concat(leaves), entries: [] }
  const audited = (given: string, over = shown): string[] => {
    const findings = createFindings()
    checkCosigned(log.views.cosigned(), { log: over, keys, policy: parsePolicy(given), findings })
    return findings.listed().map(({ fraud }) => fraud)
  }
  expect(audited(policy)).toEqual([])
  expect(audited(policy, { ...shown, leaves: Buffer.concat(leaves.toReversed()) })).toEqual([
    'second_history',
  ])
  expect(() => audited(policy.replace('any', 'all'))).toThrow(/not enough for the policy/)

  // What closes while nobody cosigns counts against the share.
  await log.record(30)
  await log.sign()
  expect(log.views.witnesses()).toMatchObject({ verdicts: 3, share: 1 / 3, entries_waiting: 1 })
})

test('a witness that has seen another history of a log is told of, and its word is not made up', async () => {
  const { log, keys } = await openLog()
  const directory = folder()
  const witness = await openWitness(directory, keys)
  const policy = `witness w ${witness.signers[0]?.vkey} ${witness.url}\nquorum w\n`
  await log.record(20, 19, 18)
  const whole = cosigning(log, policy)
  await whole.look()
  expect(whole.problems).toEqual([])

  const older = await openMadeUpLog({ directory: log.directory })
  rmSync(join(log.directory, 'newest-checkpoint'))
  const shown = cosigning(older, policy)
  await shown.look()
  expect(shown.problems).toEqual([
    expect.stringMatching(/has seen a tree of \d+, and this log has signed one of/),
  ])
  expect(() => older.views.cosigned()).toThrow(/No witness/)
})

test('a policy is met by its quorum, and one that nobody can satisfy is refused with its line', () => {
  const [a, b, c] = [1, 2, 3].map((byte) =>
    signerOf(`w${byte}.example.com`, SIGNATURE_TYPES.ed25519Cosignature, new Uint8Array(32).fill(byte)),
  ) as unknown as readonly [Verifier, Verifier, Verifier]
  const lines = [`witness a ${a.vkey} http://a.example.com`, `witness b ${b.vkey}`, `\twitness  c ${c.vkey} `]
  const policy = parsePolicy(
    ['# two of three', ...lines, 'group ab any a b', 'group all all ab c', 'quorum all', ''].join('\n'),
  )
  expect([[a], [c], [a, b], [b, c], [a, b, c]].map((some) => policy.isMet(some))).toEqual([
    false,
    false,
    false,
    true,
    true,
  ])
  expect(parsePolicy('quorum none').isMet([])).toBe(true)
  for (const [text, why] of [
    [[...lines, 'group g 4 a b c', 'quorum g'], /line 4: 4 of 3 is never reached/],
    [[...lines, 'group g 0 a', 'quorum g'], /line 4: 0 of 1/],
    [[...lines, 'quorum d'], /line 4: nothing above it has the name "d"/],
    [[...lines, 'group g any a', 'group h all a g', 'quorum h'], /line 5: a is a member already/],
    [lines, /no quorum/],
    [[lines[0], lines[0]], /line 2: the key is there twice/],
    [[`witness l ${LOG_KEY.vkey}`, 'quorum l'], /line 1: the key of l is none of a witness/],
    [[`witness a ${a.vkey} ftp://a.example.com`, 'quorum a'], /line 1: "ftp:.* is no http address/],
    [['quorum none', 'toString x'], /line 2: it begins with none of/],
  ] as const)
    expect(() => parsePolicy(text.join('\n'))).toThrow(why)
  expect(() => loadPolicy('/nowhere/policy', { isAsked: true })).toThrow(
    expect.objectContaining({ code: 'config_invalid' }),
  )
})
