import type { MarketKind } from '../../../contracts/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { WHERE_CALLS_ARE_MADE } from '../../../contracts/tools/tool-catalogue.ts'
import type { Call } from '../../../contracts/verdict.ts'
import type { EngineRun } from '../../engine/index.ts'
import type { DemoChain } from '../../payments/index.ts'
import type { Settings } from '../../runtime/config/settings.ts'

const MARKET_WORDS: Readonly<Record<MarketKind, string>> = {
  simulated: 'simulated market (not real prices)',
  recorded: 'recorded market',
  live: 'live market',
}

const BOARD = ['/', 'what is served: the board in a browser, a description to programs'] as const
const SERVED = [
  ['/mcp', 'the tools, for agents and bots'],
  ['/docs', 'the documentation'],
  ['/api/verdicts', 'recorded verdicts, one JSON object a line, shown once their window has closed'],
  ['/api/track-record', 'how good they have been'],
  ['/readyz', 'the state of everything'],
] as const
const PATH_WIDTH = 2 + Math.max(...SERVED.map(([path]) => path.length))

export function bannerLines(context: {
  readonly version: string
  readonly settings: Settings
  readonly platform: readonly string[]
  readonly runsOn: Readonly<Record<string, string>>
  /** A description of the watch list; undefined without the engine role. */
  readonly monitoring: string | undefined
  /** A chain with play money, to try paid calls on. */
  readonly demo: DemoChain | undefined
  readonly url: string | undefined
}): string[] {
  const { version, settings, platform, runsOn, monitoring, demo, url } = context
  const market = MARKET_WORDS[settings.MARKET]
  const versions = Object.entries(runsOn).map(([name, number]) => `${name} ${number}`)
  const lines = [
    `signal-service ${version}: ${[market, ...platform].join(', ')}`,
    `  on ${versions.join(', ')}`,
  ]
  if (monitoring !== undefined) lines.push(`  monitoring ${monitoring}`, `  ${WHERE_CALLS_ARE_MADE}`)
  if (url !== undefined) {
    const lineOf = ([path, what]: readonly [string, string]) => `  ${url}${path.padEnd(PATH_WIDTH)}${what}`
    lines.unshift(lineOf(BOARD).trimStart(), '')
    lines.push(...SERVED.map(lineOf), '  npm run -s signal -- keys create --tier starter   makes a key')
  }
  if (demo !== undefined) lines.push(...demoLines(demo))
  if (settings.WEBHOOKS_ALLOW_PRIVATE)
    lines.push('  webhooks may go to private addresses: for trials on this machine only')
  return [...lines, '']
}

/** The address, for a terminal in which the banner scrolls away. */
export const headerLine = (url: string): string => `${url}/  open it in a browser; Ctrl-C stops the service`

const demoLines = ({ rpcUrl, demoPayer, demoPayerKey }: DemoChain): string[] => [
  `  demo chain ${rpcUrl}: play money, worth nothing anywhere else. An account with 100 play USDC, to pay from:`,
  `    address ${demoPayer}`,
  `    key     ${demoPayerKey}`,
]

const grouped = (count: number): string => count.toLocaleString('en')

export function summaryLines(context: {
  readonly run: EngineRun
  readonly calls: Readonly<Record<Call, number>>
  readonly seconds: number
  /** The address of the results, while the process goes on serving. */
  readonly url: string | undefined
}): string[] {
  const { run, calls, seconds, url } = context
  const lines = [
    '',
    `The market has ended: ${grouped(run.bars)} bars in ${seconds.toFixed(1)} s.`,
    `${grouped(run.recorded)} verdicts recorded (${calls.BUY} BUY, ${calls.SELL} SELL, ${calls.HOLD} HOLD); for ${grouped(run.known)} bars the log had this or a newer one.`,
    `${grouped(run.labelled)} outcomes labelled.`,
  ]
  if (run.withoutVerdict.length > 0) {
    lines.push(`Fewer than ${LIMITS.warmUpBars} bars, so no verdict: ${run.withoutVerdict.join(', ')}.`)
  }
  if (run.closed.length > 0)
    lines.push(`Closed because of a fault, which the log names: ${run.closed.join(', ')}.`)
  if (url !== undefined) {
    lines.push(
      `Read them: curl '${url}/api/verdicts?limit=5'`,
      'Serving on; Ctrl-C stops (--exit-at-end would have).',
    )
  }
  return lines
}
