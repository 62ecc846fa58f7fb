import type { ModelRow } from '../../../contracts/model-answers.ts'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import {
  challengers,
  type PairedRow,
  pairedKey,
  type TrackRecord,
  trackRecord,
} from '../../../projections/index.ts'
import { trackRecordRow } from '../../analyst/index.ts'
import { chooseModel } from '../../engine/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Deps } from '../deps.ts'
import type { ServerOptions } from '../server.ts'
import type { LoadedModel } from './speech.ts'

/** The operator's questions and decisions about the models; the figures need read models. */
export function modelAdmin({
  platform: { store, newId },
  projector,
  speech,
  marketNow,
  signal,
}: Deps): NonNullable<ServerOptions['models']> {
  function rowsOf({ model, file }: LoadedModel, isChampion: boolean): ModelRow[] {
    const context = {
      model_version: model.version,
      role: isChampion ? ('champion' as const) : ('challenger' as const),
      sha256: file.sha256,
    }
    const rows = TIMEFRAMES.flatMap((timeframe): ModelRow[] => {
      const key = `timeframe/${model.version}/${timeframe}`
      const record = projector?.reader(isChampion ? trackRecord : challengers).get(key) as
        | TrackRecord
        | undefined
      const pair = isChampion
        ? undefined
        : (projector?.reader(challengers).get(pairedKey(model.version, timeframe)) as PairedRow | undefined)
      if (record === undefined && pair === undefined) return []
      const paired = pair &&
        pair.races > 0 && {
          races: pair.races,
          brier: pair.squares / pair.races,
          brier_of_spoken: pair.spokenSquares / pair.races,
          unscored: pair.unscored,
        }
      const speaks = model.timeframes[timeframe].skill
      return [
        {
          ...context,
          timeframe,
          speaks,
          record: record ? trackRecordRow(record) : null,
          paired: paired || null,
        },
      ]
    })
    return rows.length > 0
      ? rows
      : [{ ...context, timeframe: null, speaks: null, record: null, paired: null }]
  }

  return {
    list() {
      const champion = speech.champion(marketNow()).version
      const isChampion = ({ model }: LoadedModel): boolean => model.version === champion
      return speech.models
        .toSorted((a, b) => Number(isChampion(b)) - Number(isChampion(a)))
        .flatMap((one) => rowsOf(one, isChampion(one)))
    },
    choose: (modelVersion, meta) =>
      chooseModel(
        {
          store,
          newId,
          files: speech.models.map(({ file }) => file),
          marketNow,
          now: () => performance.now(),
          sleep,
          signal,
        },
        modelVersion,
        meta,
      ),
  }
}
