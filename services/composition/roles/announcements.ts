import { grouped } from '../../../contracts/domain/statistics.ts'
import type { Call } from '../../../contracts/domain/verdict.ts'
import type { MarketKind } from '../../../contracts/events/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { WHERE_CALLS_ARE_MADE } from '../../../contracts/tools/tool-catalogue.ts'
import type { EngineRun } from '../../engine/index.ts'
import { SETTINGS, type Settings } from '../../runtime/config/settings.ts'

const MARKET_WORDS: Readonly<Record<MarketKind, string>> = {
  simulated: 'simulated market (not real prices)',
  recorded: 'recorded market',
  live: 'live market',
}

const SERVED = [
  ['/mcp', 'the tools, for agents and bots'],
  ['/docs', 'the documentation'],
  ['/api/verdicts', 'verdicts whose window has closed'],
  ['/api/track-record', 'how good they have been'],
  ['/readyz', 'the state of everything'],
] as const
/** Commands to begin with, and what each gives. */
const FIRST_COMMANDS = [
  [`ask get_trade_call '{"coin":"BTC"}'`, 'a call'],
  ['keys create --tier starter', 'an API key'],
  ['replay --limit 5', 'what it recorded'],
] as const
const PATH_WIDTH = 2 + Math.max(...SERVED.map(([path]) => path.length))

/** The lines that a start writes for people: what runs, and where it is served. */
export function bannerLines(context: {
  readonly version: string
  readonly settings: Settings
  readonly platform: readonly string[]
  readonly runsOn: Readonly<Record<string, string>>
  /** A description of the watch list; undefined without the engine role. */
  readonly monitoring: string | undefined
  readonly url: string | undefined
}): string[] {
  const { version, settings, platform, runsOn, monitoring, url } = context
  const versions = Object.entries(runsOn).map(([name, number]) => `${name} ${number}`)
  const lines = [
    `signal-service ${version}: ${MARKET_WORDS[settings.MARKET]}`,
    ...wrapped([...platform, ...versions].join(', ')),
  ]
  if (monitoring !== undefined)
    lines.push(...wrapped(`monitoring ${monitoring}`), ...wrapped(WHERE_CALLS_ARE_MADE))
  if (url !== undefined) {
    const codes =
      settings.SMTP_URL === undefined
        ? 'sign-in codes appear here, for SMTP_URL is not set: pass them on to who asks'
        : 'sign-in codes are mailed'
    lines.unshift(`${url}/  the board: open it in a browser; Ctrl-C stops`, ...firstCommands(settings), '')
    lines.push(
      ...SERVED.map(([path, what]) => `  ${url}${path.padEnd(PATH_WIDTH)}${what}`),
      ...wrapped(codes),
    )
  }
  if (settings.WEBHOOKS_ALLOW_PRIVATE)
    lines.push('  webhooks may go to private addresses: for trials on this machine only')
  return [...lines, '']
}

/** The first commands, with the flags that lead to this service, quoted for a shell. */
function firstCommands({ DATA_DIR: folder, MARKET: market }: Settings): string[] {
  const quoted = /^[\w./-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", `'\\''`)}'`
  const folderFlag = folder === SETTINGS.DATA_DIR.schema.parse(undefined) ? '' : ` --data-dir ${quoted}`
  const marketFlag = market === SETTINGS.MARKET.schema.parse(undefined) ? '' : ` --market ${market}`
  const commands = FIRST_COMMANDS.map(([command]) => `${command}${folderFlag}${marketFlag}`)
  const width = Math.max(...commands.map(({ length }) => length))
  return FIRST_COMMANDS.map(
    ([, gives], at) => `  npm run -s signal -- ${commands[at]?.padEnd(width)}  # ${gives}`,
  )
}

const TERMINAL_COLUMNS = 80

/** A sentence in indented lines that fit a terminal; a word that is longer has a line of its own. */
function wrapped(text: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > TERMINAL_COLUMNS) lines.push(`  ${word}`)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

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
