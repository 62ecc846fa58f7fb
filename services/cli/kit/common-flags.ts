import { z } from 'zod'
import { replayFilterParameters } from '../../analyst/index.ts'
import type { FlagDefinition } from '../../runtime/config/read-flags.ts'
import { SETTINGS, type SettingName } from '../../runtime/config/settings.ts'

export const settingFlag = <Name extends SettingName>(
  setting: Name,
): FlagDefinition<(typeof SETTINGS)[Name]['schema']> => ({ ...SETTINGS[setting], setting })

/** Flags of a command that another one needs too, as they were given: `signal backup ADDRESS --data-dir ./data`. */
export const flagsAgain = (
  texts: Readonly<Partial<Record<string, string>>>,
  names = ['server', 'data-dir', 'market'],
): string => names.map((name) => (texts[name] === undefined ? '' : ` --${name} ${texts[name]}`)).join('')

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
