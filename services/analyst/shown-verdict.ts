import type { RecordedEvent } from '../../contracts/event.ts'
import { decodeEvent, VerdictRecorded } from '../../contracts/event-catalogue.ts'
import { toLatin1 } from '../../contracts/latin1.ts'
import { barsMissed, shiftedFrom, type Verdict } from '../../contracts/verdict.ts'
import { verdictRow, visibleAt } from '../../contracts/verdict-row.ts'
import { NULL, type RowTexts, textsOf } from './formats/row-texts.ts'

type Asked = Pick<Verdict, 'exchange' | 'coin' | 'timeframe' | 'barClose' | 'validUntil' | 'call'>

/** A recorded verdict: the part that filters ask for, and its row. */
export interface ShownVerdict extends Pick<RecordedEvent, 'position' | 'revision' | 'at'> {
  readonly data: Asked
  readonly texts: (cursor: string, decidedAt: number | null) => RowTexts
}

/** Data of these schemas has one shape: `recordedLate` goes by another rule from schema 4 on, and 5 may have a field more. */
const SCHEMAS: readonly number[] = [3, 4, VerdictRecorded.schema]
const [NAME, TEXT, TIME, NUMBER] = ['"([^"\\\\]*)"', '("[^"\\\\]*")', '(\\d+)', '([-+.e\\d]+)']
const RANGE = ['p10', 'p25', 'p50', 'p75', 'p90'].map((name) => `"${name}":[-+.e\\d]+`).join(',')
const SHAPE = new RegExp(
  `^\\{${[
    `"exchange":${NAME},"coin":${NAME},"timeframe":${NAME},"verdictId":${TEXT},"barClose":${TIME}`,
    `"validUntil":${TIME},"call":${NAME},"confidence":${NUMBER},"strength":${NUMBER},"probability":${NUMBER}(?:,"closesHigher":${NUMBER})?`,
    `"regime":${TEXT},"regimeSince":${TIME},"regimeStrength":${NUMBER},"volatilityPercentile":${NUMBER}`,
    `"price":${NUMBER},"barrier":${NUMBER}`,
    `"forecast":(?:null|\\{"model":"[^"\\\\]*","volatility":${NUMBER},(${RANGE})\\})`,
    `"factors":(\\[[^\\]]*\\]),"reasoning":${TEXT},"modelVersion":${TEXT},"anchorBar":${TIME}`,
    `"inputsHash":${TEXT},"previous":(?:null|\\{"barClose":${TIME},"regime":${TEXT}\\}),"recordedLate":(true|false)`,
  ].join(',')}\\}$`,
)

/** The verdict of an event, if it is one. Its fields are cut out of the stored JSON where that has the shape of today. */
export function shownVerdict(recorded: RecordedEvent): ShownVerdict | undefined {
  if (recorded.type === 'VerdictRecorded' && SCHEMAS.includes(recorded.schema)) {
    const parts = SHAPE.exec(recorded.latin1 ?? toLatin1(recorded.text ?? ''))
    if (parts !== null) return cutOut(recorded, parts)
  }
  const event = decodeEvent(recorded)
  if (event.type !== 'VerdictRecorded') return undefined
  const { position, revision, at, data } = event
  return {
    position,
    revision,
    at,
    data,
    texts: (...about) => textsOf(verdictRow(data, about[0], at, about[1])),
  }
}

type Parts = readonly (string | undefined)[]

function cutOut({ position, revision, at }: RecordedEvent, parts: Parts): ShownVerdict {
  const [, exchange, coin, timeframe, , barClose, validUntil, call] = parts
  const series = { exchange, coin, timeframe }
  // It was checked when it was appended.
  const data = { ...series, barClose: Number(barClose), validUntil: Number(validUntil), call } as Asked
  return { position, revision, at, data, texts: (...about) => textsIn(parts, data, at, about) }
}

// biome-ignore format: in the order of the columns
function textsIn(parts: Parts, data: Asked, at: string, [cursor, decidedAt]: Parameters<ShownVerdict['texts']>): RowTexts {
  const { exchange, coin, timeframe, barClose, validUntil, call } = data
  const [, , , , id, , , , confidence, strength, probability, closesHigher, regime, regimeSince, regimeStrength,
    percentile, price, barrier, volatility, range, factors, reasoning, model, anchorBar, inputsHash, before,
    regimeBefore, recordedLate] = parts
  const previous = before === undefined ? null : { barClose: Number(before), regime: regimeBefore }
  const about = { timeframe, barClose, regime, previous } as Verdict
  return [
    `"${cursor}"`, id ?? NULL, `"${exchange}"`, `"${coin}"`, `"${timeframe}"`, barClose, validUntil,
    `"${at}"`, `"${call}"`, confidence ?? NULL, strength ?? NULL, probability ?? NULL,
    regime ?? NULL, Number(regimeSince), regimeStrength ?? NULL, percentile ?? NULL,
    price ?? NULL, barrier ?? NULL, factors ?? NULL, reasoning ?? NULL, model ?? NULL, Number(anchorBar), inputsHash ?? NULL,
    shiftedFrom(about) ?? '""', `${barsMissed(about)}`, recordedLate ?? NULL,
    range === undefined ? NULL : `{${range}}`, volatility ?? NULL, closesHigher ?? NULL, recordedLate === 'true' ? `"${visibleAt({ validUntil, recordedLate: true }, at)}"` : validUntil,
    decidedAt ?? NULL,
  ]
}
