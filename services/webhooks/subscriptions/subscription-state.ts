export {
  evolveSubscription,
  type FilterPeriod,
  isSending,
  type RequestedReplay,
  type SealedSecret,
  type Subscription,
} from '../../../projections/index.ts'
