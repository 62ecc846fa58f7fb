import { join } from 'node:path'
import { z } from 'zod'
import { replayFilterParameters } from '../../analyst/index.ts'
import type { FlagDefinition } from '../../runtime/config/read-flags.ts'
import { SETTINGS, type SettingName } from '../../runtime/config/settings.ts'

export const settingFlag = <Name extends SettingName>(
  setting: Name,
): FlagDefinition<(typeof SETTINGS)[Name]['schema']> => ({ ...SETTINGS[setting], setting })

/** The flags that were given, as the query of the service that reads the same. */
export const queryOf = (
  texts: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    names.flatMap((name) => (texts[name] === undefined ? [] : [[name.replaceAll('-', '_'), texts[name]]])),
  )

export const switchFlag = (help: string): FlagDefinition<z.ZodType<boolean>> => ({
  schema: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true'),
  help,
  example: '',
  isSwitch: true,
})

/** Flags that choose the folder of a market. */
export const FOLDER_FLAGS = { 'data-dir': settingFlag('DATA_DIR'), market: settingFlag('MARKET') } as const

/** Flags that choose the service or the store to read verdicts from. */
export const SOURCE_FLAGS = {
  server: {
    schema: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
    help: 'Address of the service to ask. Without it, the service or the store of --data-dir.',
    example: 'http://127.0.0.1:8402',
  },
  'operator-token': settingFlag('OPERATOR_TOKEN'),
  ...FOLDER_FLAGS,
  'eventstore-url': settingFlag('EVENTSTORE_URL'),
} as const

/** Says which service or store a command asks, where that is not the one by default. */
export function sayPlace(
  flags: { readonly server?: string | undefined; readonly 'data-dir': string; readonly market: string },
  stderr: NodeJS.WritableStream,
): void {
  const place = flags.server ?? join(flags['data-dir'], flags.market)
  if (place !== join(SETTINGS.DATA_DIR.schema.parse(undefined), SETTINGS.MARKET.schema.parse(undefined)))
    stderr.write(`asking ${place}\n`)
}

export const FILTER_FLAGS = {
  exchange: {
    schema: replayFilterParameters.exchange,
    alias: 'exchanges',
    help: 'Exchange codes, separated by commas. Default: all.',
    example: 'BINANCE,HL',
  },
  coin: {
    schema: replayFilterParameters.coin,
    alias: 'coins',
    help: 'Coin symbols, separated by commas. Default: all.',
    example: 'BTC,ETH',
  },
  timeframe: {
    schema: replayFilterParameters.timeframe,
    alias: 'timeframes',
    help: 'Timeframes, separated by commas. Default: all.',
    example: '1h,4h',
  },
  call: {
    schema: replayFilterParameters.call,
    help: 'Calls, separated by commas: BUY, SELL, HOLD. Default: all.',
    example: 'BUY,SELL',
  },
  from: {
    schema: replayFilterParameters.from,
    help: 'Bars that close at this instant or later; ISO 8601. Default: the beginning.',
    example: '2025-01-01',
  },
  to: {
    schema: replayFilterParameters.to,
    help: 'Bars that close before this instant. Default: the end.',
    example: '2025-07-01T12:00:00Z',
  },
  after: {
    schema: replayFilterParameters.after,
    help: 'The cursor of a row: only verdicts after it.',
    example: '1234',
  },
} as const
