import { STEPS } from '../range.ts'
import { enumType } from './shapes.ts'

export const StepType = enumType('InsightStep', STEPS, {
  description: 'The length of a step in time.',
  values: { hour: 'Hours in UTC.', day: 'Days in UTC.' },
})
