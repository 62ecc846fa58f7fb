import { defineErrors } from './error-definition.ts'

/** Refusals of what is paid for call by call. */
export const PAYMENT_ERRORS = defineErrors({
  payment_required: {
    status: 402,
    message: 'This is paid for per call.',
    nextStep:
      'Sign one of the offers in `accepts` (or in the PAYMENT-REQUIRED header) and send the request again with it; docs/paying.md shows how.',
  },
  payment_refused: {
    status: 402,
    message: 'The payment cannot be accepted.',
    nextStep: 'See `error` for the reason, and sign one of the offers in this answer.',
  },
  payment_malformed: {
    status: 400,
    message: 'The payment header cannot be read.',
    nextStep: 'Send one payment header: base64 of the JSON that docs/paying.md describes.',
  },
  payment_mismatch: {
    status: 409,
    message: 'This authorization was used for another request.',
    nextStep: 'Repeat the request it was used for to get its answer again, or sign a new authorization.',
  },
  payment_unproven: {
    status: 403,
    message:
      'Everybody can read the signature of this payment on the chain by now, so it opens no answer by itself.',
    nextStep:
      'Send the same request with the same payment and `Payment-Secret: …`, the `_service.payment.secret` of its first answer (docs/paying.md).',
  },
  payment_pending: {
    status: 503,
    message: 'The payment is being settled, and the answer leaves when it is.',
    nextStep: 'Send the same request with the same payment again in a few seconds; it is not charged twice.',
  },
  payments_unavailable: {
    status: 503,
    // A node or a facilitator says why, and is nobody's business.
    isInner: true,
    message: 'Payments cannot be taken at the moment.',
    nextStep:
      'Send the same request with the same payment again later, which is charged once; or use an API key.',
  },
  payment_unknown: {
    status: 404,
    message: 'There is no payment with this id.',
    nextStep: 'Check the id; it stands in `_service.payment` of the answer that was paid for.',
  },
  plan_conflict: {
    status: 409,
    message: 'A dearer plan of the account has not ended; nothing was charged.',
    nextStep: 'Buy a plan of that tier, which begins after it, or this one after `details.until`.',
  },
  plan_ended: {
    status: 409,
    message: 'The plan of this payment has ended; a payment begins one plan.',
    nextStep: 'Sign a new authorization to buy another plan.',
  },
  refund_refused: {
    status: 409,
    message: 'This refund cannot be recorded.',
    nextStep: 'See the message; `payments show` tells the state of a payment.',
  },
  invalid_content_type: {
    status: 400,
    message: 'Content-Type must be application/json, given once.',
    nextStep: 'Send `Content-Type: application/json` exactly once and a JSON body; the payment was not used.',
  },
})
