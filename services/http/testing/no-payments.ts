import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { ServerOptions } from '../../composition/server.ts'

const unavailable = (): never => {
  throw new ServiceError('payments_unavailable', { message: 'this test’s server takes no payments' })
}

/** Paid routes with nothing behind them. */
export const NO_PAYMENTS: NonNullable<ServerOptions['payments']> = {
  paid: {
    tools: { call: async () => unavailable(), offer: unavailable },
    plans: { buy: async () => unavailable(), offer: unavailable },
  },
  showPayment: async () => unavailable(),
  paymentAdmin: {
    list: async () => unavailable(),
    listOwn: unavailable,
    show: async () => unavailable(),
    refund: async () => unavailable(),
  },
}
