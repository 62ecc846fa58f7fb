import { createVenueFormat } from '../venue-format.ts'
import { binanceShape } from './binance-format.ts'

const { routes, ...shape } = binanceShape('/fapi/v3')

/** Aster's interface is a copy of Binance's, under its own addresses. Made by hand from the venue's documentation. */
export const asterFormat = createVenueFormat({
  ...shape,
  routes: {
    ...routes,
    markets: { ...routes.markets, '/api/v3/exchangeInfo': () => ({ timezone: 'UTC', symbols: [] }) },
  },
})
