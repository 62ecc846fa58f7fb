import { BY_HAND, type VenueFormat } from '../venue-format.ts'
import { binanceAnswer } from './binance-format.ts'

/** Aster's interface is a copy of Binance's, under its own addresses. */
export const asterFormat: VenueFormat = {
  exchange: 'ASTER',
  source: BY_HAND,
  answer: (request, fake) =>
    request.path === '/api/v3/exchangeInfo'
      ? { route: 'markets', body: { timezone: 'UTC', symbols: [] } }
      : binanceAnswer(request, fake, '/fapi/v3'),
}
