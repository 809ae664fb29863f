import { ROLES as SERVICE_ROLES } from '../../../src/callers/roles.ts'

/** The roles of callers, as the schema names them. */
export type Role = Uppercase<(typeof SERVICE_ROLES)[number]>
export const ROLES = SERVICE_ROLES.map((role) => role.toUpperCase() as Role)
