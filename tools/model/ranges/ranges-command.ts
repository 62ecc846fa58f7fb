import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'
import {
  MEASURES,
  type RangeModel,
  type RangeModelData,
  type RangeScores,
  rangeModelOf,
  rangeModelSchema,
} from '../../../services/engine/forecast/range-model.ts'
import type { UsedSeries } from '../../../services/engine/provenance.ts'
import { interval } from '../../../services/engine/scoring/format-evaluation.ts'
import type { FitPorts } from '../fit-command.ts'
import { jsonText } from '../json-text.ts'
import { roundedNumbers } from '../rounded-numbers.ts'
import {
  DATA_FLAGS,
  DATA_HELP,
  dataSelection,
  readFlags,
  runTraining,
  timeframeList,
  UsageError,
} from '../training-command.ts'
import { addToProfile, noProfileSums, profileOf } from './fit-profile.ts'
import { type RangeSamples, rangeSamples } from './range-samples.ts'
import { fittedOn, walkRanges } from './walk-ranges.ts'

export const RANGES_HELP = `Fits how far prices go on folders of candles, scores it on bars that no fit had seen, and writes it as JSON.

  npm run fit:ranges -- --data <folder> [--data <folder> …] [--timeframes 1h,4h] [--out ranges.json] [--version range-2]

${DATA_HELP}
  --blind-from DATE    scores bars from this date on apart
  --timeframes A,B     only these timeframes
  --out FILE           writes the ranges there; to the standard output without it
  --version NAME       the version of the ranges; range-2 without it`

type RangesPorts = Omit<FitPorts, 'readText'>

/**
 * Fits how far prices go on folders of candles, scores it on bars that no fit had seen, and writes it as JSON, to a file
 * or to the standard output; the scores go to the progress as well. Answers the exit code.
 */
export function rangesCommand(args: readonly string[], ports: RangesPorts): Promise<number> {
  return runTraining(RANGES_HELP, ports, async () => {
    const flags = readFlags(args, {
      ...DATA_FLAGS,
      'blind-from': { type: 'string' },
      timeframes: { type: 'string' },
      out: { type: 'string' },
      version: { type: 'string', default: 'range-2' },
    })
    const { version, out } = flags
    if (!rangeModelSchema.shape.version.safeParse(version).success)
      throw new UsageError(`--version ${version} is no version: small letters, digits, dots and hyphens`)
    const blindFrom = instantOf('blind-from', flags['blind-from']) ?? Number.POSITIVE_INFINITY
    const timeframes = timeframeList(flags.timeframes)
    async function* fitted(): AsyncGenerator<string, void, void> {
      const { profile, used, walks } = await walkAll(flags, timeframes, blindFrom, ports)
      const fits = walks.map(([timeframe, { fit, ...scores }]) => [timeframe, { ...fit, ...scores }] as const)
      const provenance = {
        from: Math.min(...used.map(({ from }) => from)),
        to: Math.max(...used.map(({ to }) => to)),
        series: used,
      }
      const model = { schema: 1, version, provenance, profile, timeframes: Object.fromEntries(fits) }
      yield jsonText(roundedNumbers(model))
    }
    if (out === undefined) for await (const text of fitted()) ports.out(text)
    else await ports.writeFile(out, fitted())
  })
}

/** Reads the data, and walks every timeframe; reports the scores as they come. */
export async function walkAll(
  flags: Parameters<typeof dataSelection>[0],
  timeframes: readonly Timeframe[],
  blindFrom: number,
  ports: Pick<RangesPorts, 'histories' | 'report'>,
) {
  const quarters = dataSelection(flags, ['15m'])
  const profile = await readProfile(
    { ...quarters, until: Math.min(blindFrom, quarters.until ?? blindFrom) },
    ports,
  )
  const ranges = unfitted(profile)
  const used: UsedSeries[] = []
  const samplesOf = new Map<Timeframe, RangeSamples[]>()
  const hearer = { report: ports.report, used: (series: UsedSeries) => void used.push(series) }
  const wanted = TIMEFRAMES.filter((one) => timeframes.some((timeframe) => fittedOn(timeframe).includes(one)))
  for await (const history of ports.histories(dataSelection(flags, wanted), hearer)) {
    const samples = rangeSamples(ranges, history)
    if (samples.barClose.length === 0) continue
    const { timeframe } = history.series
    samplesOf.set(timeframe, [...(samplesOf.get(timeframe) ?? []), samples])
  }
  const walks = timeframes.flatMap((timeframe) => {
    const walk = walkRanges(timeframe, samplesOf, blindFrom, ports.report)
    if (walk === undefined) return []
    const { measured, blind } = walk
    ports.report(scoreLine(timeframe, measured))
    if (blind !== undefined) ports.report(scoreLine(`${timeframe} blind`, blind))
    return [[timeframe, walk] as const]
  })
  return { profile, used, walks }
}

function instantOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const instant = Date.parse(text)
  if (Number.isNaN(instant)) throw new UsageError(`--${flag} ${text} is not a date such as 2025-07-01`)
  return instant
}

async function readProfile(
  selection: Parameters<RangesPorts['histories']>[0],
  { histories, report }: Pick<RangesPorts, 'histories' | 'report'>,
): Promise<RangeModelData['profile']> {
  const sums = noProfileSums()
  for await (const { bars } of histories(selection, { report, used: () => undefined }))
    addToProfile(sums, bars)
  const { weekday, saturday, sunday } = profileOf(sums)
  return { weekday: [...weekday], saturday: [...saturday], sunday: [...sunday] }
}

/** Measures everything and expects nothing. */
function unfitted(profile: RangeModelData['profile']): RangeModel {
  const nothing = {
    intercept: 0,
    weights: Array.from({ length: MEASURES }, () => 0),
    inner: 1,
    outer: 1,
    deviation: 1,
  }
  const timeframes = Object.fromEntries(TIMEFRAMES.map((timeframe) => [timeframe, nothing])) as Record<
    Timeframe,
    typeof nothing
  >
  return rangeModelOf({ version: 'unfitted', profile, timeframes })
}

/** The scores of a timeframe in a line. */
export function scoreLine(what: string, scores: RangeScores): string {
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
  return `${what}: ${scores.forecasts} forecasts, within p10–p90 ${percent(scores.coverage80)}, p25–p75 ${percent(scores.coverage50)}; pinball below constant ${percent(scores.belowConstant)}, a coin's own constant ${percent(scores.belowCoinConstant)}, EWMA ${percent(scores.belowEwma)}; ${scores.cellsOutside.length} of ${scores.cells} coins in years outside${scores.cellsOutside.length === 0 ? '' : ` (${scores.cellsOutside.join(', ')})`}${furtherScores(scores)}`
}

function furtherScores({ coinYears, fifths = [], hours = [], extent }: RangeScores): string {
  if (coinYears === undefined || extent === undefined) return ''
  const percents = (shares: readonly number[]): string =>
    shares.map((share) => (100 * share).toFixed(1)).join(' ')
  const three = ({ own, ewma, har }: typeof extent.r2): string =>
    `${own.toFixed(3)}, EWMA ${ewma.toFixed(3)}, HAR ${har.toFixed(3)}`
  return `; ${coinYears.within} of ${coinYears.all} coins in years within 76–84 %; by fifths of the width ${percents(fifths)}; by hour ${percents(hours)}; R² of the log extent ${three(extent.r2)} (above HAR ${interval(extent.r2AboveHar, 3)}); QLIKE ${three(extent.qlike)} (below HAR ${interval(extent.qlikeBelowHar, 1, 100)} %)`
}
