import { defineErrors } from './error-definition.ts'

/** Refusals around subscriptions to webhooks. */
export const WEBHOOK_ERRORS = defineErrors({
  url_refused: {
    status: 400,
    message: 'Nothing is sent to this address.',
    nextStep:
      'Give a public HTTPS address on port 443 or 8443; the message says what is wrong with this one. For a trial on your own machine start the service with --webhooks-allow-private.',
  },
  too_many_subscriptions: {
    status: 409,
    message: 'The account has as many subscriptions as its plan allows.',
    nextStep: 'Delete one that is no longer needed, or choose a larger plan.',
  },
  subscription_unknown: {
    status: 404,
    message: 'You have no subscription with this id.',
    nextStep: 'Check the id; `GET /api/webhooks?status=all` lists yours.',
  },
  subscription_state: {
    status: 409,
    message: 'The subscription is in a state in which this cannot be done.',
    nextStep: 'See `details.state` and the message.',
  },
  subscription_stopped: {
    status: 409,
    message: 'The operator of this service stopped the subscription.',
    nextStep: 'Ask the operator to allow it again; until then it can be shown, changed and deleted.',
  },
})
