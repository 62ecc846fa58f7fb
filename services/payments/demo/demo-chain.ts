import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { z } from 'zod'
import { DEMO_CHAIN } from '../../../contracts/chain.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { tokenAbi } from '../chain/token-abi.ts'
import { findAnvil } from './find-anvil.ts'
import { mint, openPlayChain, type PlayChain, placeContracts } from './play-chain.ts'
import { type AnvilOptions, type RunningAnvil, startAnvil } from './start-anvil.ts'

export interface DemoChainOptions {
  /** Folder that the chain and its keys are kept in from run to run; made where it is missing. */
  readonly directory: string
  /** Told what an operator should know. */
  readonly report?: (event: string, details: Readonly<Record<string, string | number>>) => void
  /** Seconds from block to block: 2, as on Base. */
  readonly blockTimeS?: number
}

const privateKey = z.string().regex(/^0x[0-9a-f]{64}$/)
const keysSchema = z.object({
  /** Chains of former releases passed for Base, and their keys say nothing. */
  chainId: z.literal(DEMO_CHAIN.id).optional(),
  payTo: privateKey,
  settler: privateKey,
  payer: privateKey,
})
type Keys = z.output<typeof keysSchema>

const KEYS_FILE = 'keys.json'
const STATE_FILE = 'chain.json'
const PID_FILE = 'anvil.pid'

/** The demo payer starts with this much on each start of the chain: 100 play USDC. */
const PLAY_USDC = 100_000_000n
const GAS_WEI = 1_000n * 10n ** 18n

export type DemoChain = Awaited<ReturnType<typeof startDemoChain>>

/**
 * A chain of this machine with play money, and everything that a trial of paid calls needs.
 *
 * Starts the demo chain. It is kept in its folder: a restart finds payments, balances and blocks as they were, also
 * where the service was killed. Where the chain was killed too, its last seconds are missing, and nothing of that was
 * final; where its file cannot be read, it begins anew. Settled payments that it does not have any more are then found out like those of any block that was
 * taken back: they are settled again while they are valid, and given up after that.
 *
 * @throws ServiceError `config_invalid` where anvil is not installed, or the folder holds other keys
 */
export async function startDemoChain(options: DemoChainOptions) {
  const { directory, report = () => undefined, blockTimeS = 2 } = options
  const { binary, missing } = findAnvil()
  if (binary === undefined) {
    throw new ServiceError('config_invalid', {
      message: `DEMO_CHAIN (--demo-chain) needs anvil, and ${missing}. Install it with: npm install --no-save @foundry-rs/anvil@1.7.1`,
    })
  }
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await endFormer(directory)
  const keys = await loadKeys(directory, report)
  const anvil = await startKept(
    { binary, blockTimeS, chainId: DEMO_CHAIN.id, state: join(directory, STATE_FILE) },
    report,
  )
  try {
    await writeFile(join(directory, PID_FILE), String(anvil.pid))
    await equip(openPlayChain(anvil.rpcUrl, DEMO_CHAIN), keys)
  } catch (error) {
    await anvil.stop()
    throw error
  }
  return {
    on: DEMO_CHAIN,
    rpcUrl: anvil.rpcUrl,
    payTo: addressOf(keys.payTo),
    /** Key of the settling wallet, which has gas. */
    settlerKey: keys.settler as Hex,
    /** Key of the one account with play money. It may be shown: it is made for this folder and worth nothing elsewhere. */
    demoPayerKey: keys.payer as Hex,
    demoPayer: addressOf(keys.payer),
    /** Why the chain has ended, if it has. */
    failure: () => anvil.failure(),
    async stop() {
      await anvil.stop()
      await rm(join(directory, PID_FILE), { force: true })
    },
  }
}

const addressOf = (key: string): Hex => privateKeyToAccount(key as Hex).address

/**
 * Keys are made once for a folder, so that payments of an earlier run can still be settled. Where that run was of a chain that
 * passed for Base, its files are set aside: what was signed for it was good on Base, so it is not gone on with. Payments in the log
 * that were to be settled on it are found uncollectable.
 */
async function loadKeys(directory: string, report: NonNullable<DemoChainOptions['report']>): Promise<Keys> {
  const path = join(directory, KEYS_FILE)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  const known = text === undefined ? undefined : parseKeys(text, path)
  if (known?.chainId !== undefined) return known
  if (known !== undefined) {
    await setAside(join(directory, STATE_FILE), 'former')
    await setAside(path, 'former')
    report('demo_chain_begins_anew', {
      because: `the chain in ${directory} passed for Base. Its files are kept as *.former; the demo payer has a new key`,
    })
  }
  const newKey = (): string => `0x${randomBytes(32).toString('hex')}`
  const keys = { chainId: DEMO_CHAIN.id, payTo: newKey(), settler: newKey(), payer: newKey() }
  // Written beside and moved, so that a crash leaves none or all.
  await writeFile(`${path}.new`, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 })
  await rename(`${path}.new`, path)
  return keys
}

function parseKeys(text: string, path: string): Keys {
  try {
    return keysSchema.parse(JSON.parse(text))
  } catch {
    throw new ServiceError('config_invalid', {
      message: `${path} does not hold the keys of a demo chain. Remove the folder to begin anew`,
    })
  }
}

async function startKept(
  options: AnvilOptions & { readonly state: string },
  report: NonNullable<DemoChainOptions['report']>,
): Promise<RunningAnvil> {
  try {
    return await startAnvil(options)
  } catch (error) {
    if (!(await setAside(options.state, 'unreadable'))) throw error
    report('demo_chain_begins_anew', { because: `${options.state}.unreadable could not be read` })
    return startAnvil(options)
  }
}

/** @returns whether there was such a file */
const setAside = (path: string, why: 'former' | 'unreadable'): Promise<boolean> =>
  rename(path, `${path}.${why}`).then(
    () => true,
    (failure: NodeJS.ErrnoException) => {
      if (failure.code === 'ENOENT') return false
      throw failure
    },
  )

/** Puts in place what is missing: all of it on a new chain, and what was spent on a kept one. */
async function equip(chain: PlayChain, keys: Keys): Promise<void> {
  await placeContracts(chain)
  await chain.setBalance({ address: addressOf(keys.settler), value: GAS_WEI })
  const account = addressOf(keys.payer)
  const balance = await chain.readContract({
    address: chain.on.usdc,
    abi: tokenAbi,
    functionName: 'balanceOf',
    args: [account],
  })
  if (balance < PLAY_USDC) await mint(chain, account, PLAY_USDC - balance)
}

const ENDING_MS = 8_000
const ENDING_LOOK_MS = 50

/**
 * Ends the chain of a run that was killed: it would go on writing the file that the next one reads. Asked to end, it
 * writes out what the file does not have yet; killed only where it takes too long. The process is ended only where it
 * says itself that it is anvil with this folder's file; where a system does not tell, it is left.
 */
async function endFormer(directory: string): Promise<void> {
  const orNothing = (): string => ''
  const pid = Number(await readFile(join(directory, PID_FILE), 'utf8').catch(orNothing))
  if (!Number.isSafeInteger(pid) || pid <= 1) return
  const isThere = async (): Promise<boolean> => {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(orNothing)
    return command.includes('anvil') && command.includes(join(directory, STATE_FILE))
  }
  const deadlineMs = performance.now() + ENDING_MS
  for (let isAsked = false; await isThere(); isAsked = true) {
    const isOverdue = performance.now() > deadlineMs
    if (!isAsked || isOverdue) endProcess(pid, isOverdue ? 'SIGKILL' : 'SIGTERM')
    await delay(ENDING_LOOK_MS)
  }
}

/** Between the look and the signal it may have ended by itself. */
function endProcess(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
