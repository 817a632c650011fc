# syntax=docker/dockerfile:1
# Written by `doctor init docker`. Edit it as you like. Build it: docker build -f doctor.Dockerfile .
FROM python:@PYTHON@-slim AS app
WORKDIR /app
@IMAGE@

# The build fails if doctor finds an error in the environment. A build host has no GPU: declare the one that the image
# will run on by adding, for example, --assume gpu=sm_90,driver=580.95
# canary-doctor is not on a package index yet: put the path or git URL of a checkout, or your own index.
FROM app AS doctor
RUN python -m venv /opt/doctor \
    && /opt/doctor/bin/python -m pip install --no-cache-dir "canary-doctor==@VERSION@"
RUN /opt/doctor/bin/doctor check --python python3 --report json=/opt/doctor.json

# The final image contains no doctor. It copies the report because BuildKit skips a stage that nothing copies from.
FROM app
COPY --from=doctor /opt/doctor.json /usr/local/share/doctor.json
