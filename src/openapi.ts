export const openapi = {}
