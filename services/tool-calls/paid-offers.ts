import type { Product } from '../../contracts/prices.ts'
import type { Payments } from '../payments/index.ts'
import { PAID_PRODUCTS, paidPath } from './paid-products.ts'

/** An offer as it is sent. */
export interface OfferText {
  /** Members of the JSON body for version 1 of x402, between the braces: `"x402Version":1,…`. */
  readonly members: string
  /** Value of the header `PAYMENT-REQUIRED`, for version 2. */
  readonly header: string
}

export interface PaidOffersOptions {
  readonly payments: Pick<Payments, 'quote'>
  /** The address under which callers reach the service. */
  readonly publicUrl: () => string
  /** The note that calls are withdrawn for now, which a payer must see before paying; empty if none are. */
  readonly withdrawn?: () => string
}

/** Makes offers. @param error the field `error` for the caller, in words of x402 or of the registry */
export type PaidOffers = (product: Product, price: bigint, error: string) => OfferText

const MAKE_CALLS: ReadonlySet<Product> = new Set(['get_trade_call', 'scan_trade_calls'] as const)

export const createPaidOffers =
  ({ payments, publicUrl, withdrawn = () => '' }: PaidOffersOptions): PaidOffers =>
  (product, price, error) => {
    const note = withdrawn()
    const words = PAID_PRODUCTS[product]
    const description =
      note !== '' && MAKE_CALLS.has(product) ? `${words.description} ${note}` : words.description
    const url = `${publicUrl()}${paidPath(product)}`
    const { body, header } = payments.quote({ product, price, url, ...words, description }, error)
    return { members: JSON.stringify(body).slice(1, -1), header }
  }
