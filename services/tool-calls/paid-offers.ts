import { LIMITS } from '../../contracts/limits.ts'
import type { Product } from '../../contracts/prices.ts'
import type { Payments, Quote } from '../payments/index.ts'
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
  /** Milliseconds that only grow. */
  readonly clock: () => number
  /** The note that calls are withdrawn for now, which a payer must see before paying; empty if none are. */
  readonly withdrawn?: () => string
}

/** Makes offers. @param error the field `error` for the caller, in words of x402 or of the registry */
export type PaidOffers = (product: Product, price: bigint, error: string) => OfferText

const MAKE_CALLS: ReadonlySet<Product> = new Set(['get_trade_call', 'scan_trade_calls'] as const)

/** More than there are products, prices and reasons; past it, what is remembered is made anew. */
const OFFERS_KEPT = 256
/** Signed offers bind for a while; who is given one has at least half of it left. */
const OFFERS_KEPT_MS = (LIMITS.offerValidityS * 1_000) / 2

/**
 * Offers, each made once: nothing in them changes from request to request, and making one costs more than everything
 * else that an unpaid request causes.
 */
export function createPaidOffers({
  payments,
  publicUrl,
  clock,
  withdrawn = () => '',
}: PaidOffersOptions): PaidOffers {
  let keptFor = ''
  let keptNote = ''
  let keptUntil = 0
  const kept = new Map<string, OfferText>()
  return (product, price, error) => {
    const service = publicUrl()
    const note = withdrawn()
    const isStale = service !== keptFor || note !== keptNote || clock() >= keptUntil
    if (isStale || kept.size >= OFFERS_KEPT) {
      kept.clear()
      keptUntil = clock() + OFFERS_KEPT_MS
      keptFor = service
      keptNote = note
    }
    const name = `${product} ${price} ${error}`
    const known = kept.get(name)
    if (known !== undefined) return known
    const url = `${service}${paidPath(product)}`
    const words = PAID_PRODUCTS[product]
    const description =
      note !== '' && MAKE_CALLS.has(product) ? `${words.description} ${note}` : words.description
    const made = textOf(payments.quote({ product, price, url, ...words, description }, error))
    kept.set(name, made)
    return made
  }
}

const textOf = ({ body, header }: Quote): OfferText => ({
  members: JSON.stringify(body).slice(1, -1),
  header,
})
