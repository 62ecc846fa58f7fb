import type { CcxtClient } from './ccxt-client.ts'
import { VenueFailure } from './venue-failure.ts'
import type { LiveExchange, VenueDefinition } from './venues.ts'

/** The kinds of assets that are no coins. */
export interface OtherAsset {
  /** In words, such as "a share". */
  readonly kind: string
  /** Field and value by which the venue says so. */
  readonly stated: string
}

type Contract = Readonly<Record<string, unknown>>

/** The fields of a contract that say it is no coin; none where the venue says it is one, or says nothing. */
type Reader = (contract: Contract) => readonly string[]

/** Values of a field, which some venues send as a list. */
const where =
  (field: string, pattern: RegExp): Reader =>
  (contract) =>
    [contract[field] ?? []]
      .flat()
      .map((value: unknown) => String(value))
      .flatMap((value) => (pattern.test(value) ? `${field} ${value}` : []))

/** A field whose values are known for coins: each other value is of something else, also one that is new. */
const unless = (field: string, ...ofCoins: readonly string[]): Reader =>
  where(field, new RegExp(`^(?!(${ofCoins.join('|')})?$)`))

const either =
  (...readers: readonly Reader[]): Reader =>
  (contract) =>
    readers.flatMap((read) => read(contract))

/** By venue, the fields of its list of contracts that say what a contract is of. */
const READERS: Readonly<Record<LiveExchange, Reader>> = {
  BINANCE: either(unless('underlyingType', 'COIN'), where('contractType', /^TRADIFI/)),
  BYBIT: unless('symbolType', 'innovation', 'adventure'),
  OKX: unless('instCategory', '1'),
  BITGET: unless('isRwa', 'NO'),
  // Markets of others are exchanges of their own there, which are not asked for.
  HL: () => [],
  GATE: unless('contract_type', 'crypto'),
  KUCOIN: either(unless('assetClass', 'CRYPTO'), unless('marketType', 'CRYPTO')),
  MEXC: (contract) => {
    const said = either(where('conceptPlate', /tradfi$/i), where('type', /^2$/))(contract)
    return said.length === 0 ? said : [...said, ...where('conceptPlate', /./)(contract)]
  },
  // It has no field for it: its codes of other contracts begin with NC and their kind.
  BINGX: where('asset', /^NC(SK|SI|CO|FX)[A-Z0-9]{2,}$/),
  HTX: either(
    where('tradfi_labels', /./),
    where('labels', /^(tradfi|stock|etf|index|indices|metal|commodit|forex)/i),
  ),
  PHEMEX: unless('perpProductSubType', 'Normal'),
  ASTER: either(
    where('underlyingSubType', /^(stock|etf|index|commodit|forex)/i),
    unless('underlyingType', 'COIN'),
    where('symbolType', /^1$/),
  ),
  WHITEBIT: either(where('type', /tradfi/i), where('isTradFiFutures', /^true$/)),
  XT: where('plates', /tradfi|stock|forex|commodit|metal|^index$/i),
}

const KINDS: readonly (readonly [RegExp, string])[] = [
  [/pre-?(market|ipo)/i, 'not traded on a market yet'],
  [/equity|stock|etf|instCategory 3|asset NCSK/i, 'a share'],
  [/index|indices|asset NCSI/i, 'an index'],
  [/commodit|metal|oil|instCategory 4|asset NCCO/i, 'a commodity'],
  [/forex|fx|instCategory 5/i, 'a currency'],
  [/bond|instCategory 6/i, 'a bond'],
]

/**
 * The kind of asset of a contract, if the venue says that it is no coin. A venue that says nothing of a contract means a coin:
 * the fields came with the other contracts, and old answers lack them.
 */
export function otherAssetOf(
  exchange: LiveExchange,
  contract: Contract,
  groups: ReadonlyMap<unknown, string>,
): OtherAsset | undefined {
  const plates = [contract['plates'] ?? []].flat().map((id) => groups.get(id) ?? id)
  const said = READERS[exchange]({ ...contract, plates })
  const kindOf = (stated: string) => KINDS.find(([pattern]) => pattern.test(stated))?.[1]
  const stated = said.find(kindOf) ?? said[0]
  return stated === undefined ? undefined : { kind: kindOf(stated) ?? 'no coin', stated }
}

/** The names of the groups that contracts are in, of a venue whose list has their numbers. */
export async function groupNames(
  client: CcxtClient,
  { groups }: VenueDefinition,
): Promise<ReadonlyMap<unknown, string>> {
  if (groups === undefined) return new Map()
  const rows = (await client.request(groups.path, groups.api, 'GET', {}))['result']
  if (Array.isArray(rows)) return new Map(rows.map(({ id, plate }) => [id, String(plate).trim()]))
  throw new VenueFailure('refused', `${groups.path} names no groups, so shares cannot be told from coins`)
}

/** Names that callers may use for such a contract: as listed, and without what the venue adds to the ticker. */
export const namesOfOther = (base: string): readonly string[] => {
  const [, code, ticker] = /^(?:NC(?:SK|SI|CO|FX)(.+?)2[A-Z]{3}|(.+)STOCK)$/.exec(base) ?? []
  return [base, code ?? ticker ?? base]
}
