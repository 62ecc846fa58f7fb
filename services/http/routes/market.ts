import type { FastifyPluginAsync } from 'fastify'
import { type HealthRoutesOptions, healthRoutes } from './health.ts'
import { type HistoryRoutesOptions, historyRoutes } from './history.ts'
import { type MarketRoutesOptions, marketRoutes } from './markets.ts'
import { type SealedRoutesOptions, sealedRoutes } from './sealed.ts'
import { type TrackRecordRoutesOptions, trackRecordRoutes } from './track-record.ts'
import { type TransparencyLogRoutesOptions, transparencyLogRoutes } from './transparency-log.ts'
import { type VerdictRoutesOptions, verdictRoutes } from './verdicts.ts'

/** Parts that are left out are not served. */
export interface MarketPluginOptions
  extends HealthRoutesOptions,
    HistoryRoutesOptions,
    MarketRoutesOptions,
    TrackRecordRoutesOptions,
    VerdictRoutesOptions,
    Pick<TransparencyLogRoutesOptions, 'verify'> {
  readonly sealed?: SealedRoutesOptions['sealed'] | undefined
  readonly transparencyLog?: TransparencyLogRoutesOptions['transparencyLog'] | undefined
}

/** The market, recorded verdicts with their outcomes and proofs, and the health of the process. */
export const marketPlugin: FastifyPluginAsync<
  MarketPluginOptions & { readonly exchanges: () => readonly string[] }
> = async (app, options) => {
  const { sealed, transparencyLog, verify } = options
  for (const routes of [historyRoutes, healthRoutes, marketRoutes, verdictRoutes, trackRecordRoutes])
    await app.register(routes as FastifyPluginAsync<typeof options>, options)
  if (sealed !== undefined) await app.register(sealedRoutes, { sealed })
  if (transparencyLog !== undefined) await app.register(transparencyLogRoutes, { transparencyLog, verify })
}
