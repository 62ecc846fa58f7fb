import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { DEMO_CHAIN } from '../../../contracts/chain.ts'
import { type RunningService, startService } from '../../composition/start-service.ts'
import { missingChain } from '../../payments/testing/chain/test-chain.ts'
import { cosignersOn, loadLogKeys, parseVkey } from '../../proof/index.ts'
import { signersOf } from '../../proof/signing/log-keys.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { beginSignal } from '../kit/run-signal.fixture.ts'

interface Operator {
  readonly origin: string
  readonly folder: string
  /** The verifier keys of their log. */
  readonly vkeys: string
  witness?: { readonly vkey: string; readonly url: string }
  service?: RunningService
}

const WAIT = { timeout: 60_000, interval: 200 }
const signalOf = (argv: readonly string[], signal: AbortSignal) => beginSignal(argv, { signal })

/** Two operators, each with a service and a witness, which cosigns the log of the other one. */
describe('two logs that watch each other', () => {
  const root = mkdtempSync(join(tmpdir(), 'watched-'))
  const ending = new AbortController()
  const witnesses: Promise<unknown>[] = []
  const operators = ['east', 'west'].map((name): Operator => {
    const folder = join(root, name)
    mkdirSync(join(folder, 'simulated'), { recursive: true, mode: 0o700 })
    const origin = `${name}.example.com/log`
    const file = join(folder, 'simulated', 'log.keys')
    const keys = loadLogKeys({ given: undefined, file, random: randomBytes })
    return {
      origin,
      folder,
      vkeys: signersOf(keys, origin)
        .map(({ vkey }) => `${vkey}\n`)
        .join(''),
    }
  })
  const [east, west] = operators as [Operator, Operator]

  /** Begins to cosign the log of somebody else. */
  async function startWitness(own: Operator, other: Operator): Promise<void> {
    const logs = join(own.folder, 'logs.vkeys')
    writeFileSync(logs, other.vkeys)
    const name = own.origin.replace('log', 'witness')
    const argv = ['witness', join(own.folder, 'witness'), '--name', name, '--logs', logs, '--port', '0']
    const { written, done } = signalOf(argv, ending.signal)
    witnesses.push(done)
    await vi.waitUntil(() => /http:\/\/\S+/.test(written.err), WAIT)
    own.witness = { vkey: written.out.split('\n')[1] ?? '', url: /http:\/\/\S+/.exec(written.err)?.[0] ?? '' }
  }

  const policyOf = (watcher: Operator): string =>
    `witness other ${watcher.witness?.vkey} ${watcher.witness?.url}\nquorum other\n`

  async function startLog(own: Operator, watcher: Operator, anchors: boolean): Promise<void> {
    const policy = join(own.folder, 'witnesses.policy')
    writeFileSync(policy, policyOf(watcher))
    const flags = ['--port', '0', '--data-dir', own.folder, '--console', 'off', '--log-level', 'error']
    const environment = {
      FRESH: 'true',
      COINS: 'BTC',
      TIMEFRAMES: '1m',
      MARKET_SPEED: '60',
      LOG_ORIGIN: own.origin,
      LOG_POLICY: policy,
      RATE_PER_ADDRESS: 'off',
      ...(anchors && { DEMO_CHAIN: 'true', LOG_ANCHOR_MINUTES: '1' }),
    }
    own.service = await startService(readSettings(flags, environment), process.stdout)
  }

  const get = async (own: Operator, path: string): Promise<Response> => fetch(`${own.service?.url}${path}`)
  const json = async (own: Operator, path: string) =>
    (await (await get(own, path)).json()) as Record<string, unknown>

  beforeAll(async () => {
    await Promise.all([startWitness(east, west), startWitness(west, east)])
    await startLog(east, west, missingChain === undefined)
    await startLog(west, east, false)
  }, 120_000)
  afterAll(async () => {
    for (const { service } of operators) await service?.stop()
    ending.abort()
    await Promise.all(witnesses)
    rmSync(root, { recursive: true, force: true })
  })

  test.each([
    [east, west],
    [west, east],
  ])('$origin is cosigned by the other one, and says how much of it in time', async (own, watcher) => {
    await vi.waitUntil(async () => Number((await json(own, '/log/witnesses')).share) > 0, WAIT)
    const note = await (await get(own, '/log/cosigned')).text()
    expect(note).toContain(`${own.origin}\n`)
    const verifier = parseVkey(watcher.witness?.vkey ?? '')
    if (verifier === undefined) throw new Error('the witness has said no key')
    expect(cosignersOn(note, { witnesses: [{ name: 'other', verifier, url: undefined }] })).toEqual([
      verifier,
    ])
    expect(await json(own, '/log/witnesses')).toMatchObject({
      newest: { origin: own.origin, witnesses: [watcher.origin.replace('log', 'witness')] },
    })
  })

  test('an audit asks for the other one’s cosignature, and finds nothing', async () => {
    const policy = join(root, 'audit.policy')
    writeFileSync(policy, policyOf(west))
    const [vkey = ''] = east.vkeys.split('\n')
    const argv = ['audit', east.service?.url ?? '', '--vkey', vkey, '--policy', policy]
    const state = ['--state', join(root, 'signal-audit.json')]
    const { written, done } = signalOf([...argv, ...state], ending.signal)
    expect([await done, written.err]).toEqual([
      0,
      expect.stringMatching(/^waiting 10 s: [^]*\naudited \d+ entries\n$/),
    ])
    expect(written.out).toContain(`cosigned  by ${west.origin.replace('log', 'witness')}`)
  })

  test.skipIf(missingChain !== undefined)(
    `what was cosigned stands on the chain before windows close ${missingChain ?? ''}`,
    async () => {
      await vi.waitUntil(async () => (await json(east, '/log/anchors')).newest !== null, WAIT)
      const { newest, anchors } = (await json(east, '/log/anchors')) as {
        newest: object
        anchors: { size: number; chain: { chain_id: number; transaction: string } }[]
      }
      expect(newest).toMatchObject({ origin: east.origin, is_cosigned: true })
      expect(anchors[0]?.chain).toMatchObject({
        chain_id: DEMO_CHAIN.id,
        transaction: expect.stringMatching(/^0x/),
      })
      const anchored = await (await get(east, `/log/anchors/${anchors[0]?.size}.checkpoint`)).text()
      expect(anchored.split('\n').slice(0, 2)).toEqual([east.origin, String(anchors[0]?.size)])
      expect(await json(west, '/log/anchors')).toMatchObject({ newest: null, share: null, anchors: [] })
    },
  )
})
