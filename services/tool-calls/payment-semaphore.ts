/** Room for what goes on at the same time, shared out so that no payer and no address takes all of it. */
export interface PaymentSemaphore {
  /**
   * Takes a place.
   *
   * @returns gives it back, to be called once; undefined where there is none
   */
  enter(payer: string, address: string): (() => void) | undefined
}

export interface PaymentSemaphoreOptions {
  readonly all: number
  readonly perPayer: number
  readonly perAddress: number
}

/** @example const leave = createPaymentSemaphore({ all: 1_024, perPayer: 128, perAddress: 256 }).enter(payer, address) */
export function createPaymentSemaphore({
  all,
  perPayer,
  perAddress,
}: PaymentSemaphoreOptions): PaymentSemaphore {
  let taken = 0
  const ofPayers = new Map<string, number>()
  const ofAddresses = new Map<string, number>()
  return {
    enter(payer, address) {
      const ofPayer = ofPayers.get(payer) ?? 0
      const ofAddress = ofAddresses.get(address) ?? 0
      if (taken >= all || ofPayer >= perPayer || ofAddress >= perAddress) return undefined
      taken += 1
      ofPayers.set(payer, ofPayer + 1)
      ofAddresses.set(address, ofAddress + 1)
      return () => {
        taken -= 1
        giveBack(ofPayers, payer)
        giveBack(ofAddresses, address)
      }
    },
  }
}

function giveBack(counts: Map<string, number>, name: string): void {
  const left = (counts.get(name) ?? 1) - 1
  if (left === 0) counts.delete(name)
  else counts.set(name, left)
}
